/* The words of attributes that take one of a few.  The text is the `.words` of
 * rows of ops.def; the enum names its words in their order, as attr_word()
 * counts them. */
#ifndef OPS_WORDS_H
#define OPS_WORDS_H

/* Of an index that is out of range. */
#define TAKE_MODES "clip|wrap|fast"
typedef enum TakeMode { TAKE_CLIP, TAKE_WRAP, TAKE_FAST } TakeMode;

/* How an element is combined with what was there. */
#define SCATTER_MODES "update|add|mul|min|max"
#define SCATTER_ND_MODES SCATTER_MODES "|mean"
typedef enum ScatterMode {
  SCATTER_UPDATE,
  SCATTER_ADD,
  SCATTER_MUL,
  SCATTER_MIN,
  SCATTER_MAX,
  SCATTER_MEAN
} ScatterMode;

/* What a margin is filled with. */
#define PAD_MODES "constant|edge|reflect"
typedef enum PadMode { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT } PadMode;

/* Is the border itself mirrored? */
#define MIRROR_MODES "SYMMETRIC|REFLECT"
typedef enum MirrorMode { MIRROR_SYMMETRIC, MIRROR_REFLECT } MirrorMode;

/* The numbers of a slice's `end`. */
#define SLICE_MODES "end|size"
typedef enum SliceMode { SLICE_END, SLICE_SIZE } SliceMode;

#define TOPK_RESULTS "both|values|indices"
typedef enum TopkResults { TOPK_BOTH, TOPK_VALUES, TOPK_INDICES } TopkResults;

/* Of a loss over its terms. */
#define LOSS_REDUCTIONS "mean|sum|none"
typedef enum LossReduction { LOSS_MEAN, LOSS_SUM, LOSS_TERMS } LossReduction;

/* Which axis of meshgrid's results the first operand runs along. */
#define INDEXINGS "ij|xy"
typedef enum Indexing { INDEXING_IJ, INDEXING_XY } Indexing;

/* Of an image, where an operator knows these two alone. */
#define IMAGE_LAYOUTS "NCHW|NHWC"
typedef enum ImageLayout { CHANNELS_FIRST, CHANNELS_LAST } ImageLayout;

/* The last two mean what the two before them do. */
#define RESIZE_METHODS "nearest_neighbor|linear|cubic|bilinear|bicubic"
#define RESIZE3D_METHODS "nearest_neighbor|linear|cubic|trilinear|tricubic"
typedef enum ResizeMethod {
  RESIZE_NEAREST,
  RESIZE_LINEAR,
  RESIZE_CUBIC,
  RESIZE_LINEAR_TOO,
  RESIZE_CUBIC_TOO
} ResizeMethod;

#define CROP_METHODS "bilinear|nearest_neighbor"
typedef enum CropMethod { CROP_LINEAR, CROP_NEAREST } CropMethod;

/* Where pixels lie. */
#define COORDINATES "half_pixel|align_corners|asymmetric"
#define RESIZE_COORDINATES \
  COORDINATES "|pytorch_half_pixel|tf_half_pixel_for_nn"
typedef enum Coordinates {
  HALF_PIXEL,
  ALIGN_CORNERS,
  ASYMMETRIC,
  PYTORCH_HALF_PIXEL,
  TF_HALF_PIXEL_FOR_NN
} Coordinates;

/* Of a coordinate to the nearest pixel; the empty word leaves it to the
 * coordinates. */
#define ROUNDINGS "|round|round_prefer_floor|round_prefer_ceil|floor|ceil"
typedef enum Rounding {
  ROUND_AS_COORDINATES,
  ROUND_HALF_AWAY,
  ROUND_PREFER_FLOOR,
  ROUND_PREFER_CEIL,
  ROUND_FLOOR,
  ROUND_CEIL
} Rounding;

#define GRID_METHODS "nearest|bilinear|bicubic"
typedef enum GridMethod { GRID_NEAREST, GRID_LINEAR, GRID_CUBIC } GridMethod;

#define GRID_PADDINGS "zeros|border|reflection"
typedef enum GridPadding {
  GRID_ZEROS,
  GRID_BORDER,
  GRID_REFLECTION
} GridPadding;

#define ROI_MODES "avg|max"
typedef enum RoiMode { ROI_MEANS, ROI_MAXIMA } RoiMode;

#define BOX_FORMATS "onnx|tensorflow"
typedef enum BoxFormat { BOXES_OF_ONNX, BOXES_OF_TENSORFLOW } BoxFormat;

/* Of halves, in requantizing. */
#define HALVES "UPWARD|TONEAREST|None"
typedef enum Halves { HALVES_UPWARD, HALVES_AWAY, HALVES_DEFAULT } Halves;

#endif
