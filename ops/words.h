/* The words of attributes that take one of a few.  The text is the `.words` of
 * rows of ops.def; the enum names its words in their order, as attr_word()
 * counts them. */
#ifndef OPS_WORDS_H
#define OPS_WORDS_H

/* What becomes of an index that is out of range. */
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

/* Does a mirrored margin repeat the element at the border? */
#define MIRROR_MODES "SYMMETRIC|REFLECT"
typedef enum MirrorMode { MIRROR_SYMMETRIC, MIRROR_REFLECT } MirrorMode;

/* What the numbers of a slice's `end` say: where it ends, or how long it is. */
#define SLICE_MODES "end|size"
typedef enum SliceMode { SLICE_END, SLICE_SIZE } SliceMode;

/* What topk gives. */
#define TOPK_RESULTS "both|values|indices"
typedef enum TopkResults { TOPK_BOTH, TOPK_VALUES, TOPK_INDICES } TopkResults;

/* What a loss makes of its terms; LOSS_TERMS leaves them as they are. */
#define LOSS_REDUCTIONS "mean|sum|none"
typedef enum LossReduction { LOSS_MEAN, LOSS_SUM, LOSS_TERMS } LossReduction;

/* Which axis of meshgrid's results the first operand runs along. */
#define INDEXINGS "ij|xy"
typedef enum Indexing { INDEXING_IJ, INDEXING_XY } Indexing;

/* The order of an image's axes, for operators that know these two alone. */
#define IMAGE_LAYOUTS "NCHW|NHWC"
typedef enum ImageLayout { CHANNELS_FIRST, CHANNELS_LAST } ImageLayout;

/* How an element of a resized image is read; the last two words are other names
 * of the two before them. */
#define RESIZE_METHODS "nearest_neighbor|linear|cubic|bilinear|bicubic"
#define RESIZE3D_METHODS "nearest_neighbor|linear|cubic|trilinear|tricubic"
typedef enum ResizeMethod {
  RESIZE_NEAREST,
  RESIZE_LINEAR,
  RESIZE_CUBIC,
  RESIZE_LINEAR_TOO,
  RESIZE_CUBIC_TOO
} ResizeMethod;

/* The same for a box that is cut out. */
#define CROP_METHODS "bilinear|nearest_neighbor"
typedef enum CropMethod { CROP_LINEAR, CROP_NEAREST } CropMethod;

/* Where the pixels of an image lie (source_of() in kernels/drive/resize.c). */
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

/* How a coordinate is rounded to the nearest pixel; the empty word leaves it to
 * the coordinates. */
#define ROUNDINGS "|round|round_prefer_floor|round_prefer_ceil|floor|ceil"
typedef enum Rounding {
  ROUND_AS_COORDINATES,
  ROUND_HALF_AWAY,
  ROUND_PREFER_FLOOR,
  ROUND_PREFER_CEIL,
  ROUND_FLOOR,
  ROUND_CEIL
} Rounding;

/* How grid_sample reads between elements. */
#define GRID_METHODS "nearest|bilinear|bicubic"
typedef enum GridMethod { GRID_NEAREST, GRID_LINEAR, GRID_CUBIC } GridMethod;

/* What grid_sample reads beyond the image. */
#define GRID_PADDINGS "zeros|border|reflection"
typedef enum GridPadding {
  GRID_ZEROS,
  GRID_BORDER,
  GRID_REFLECTION
} GridPadding;

/* What roi_align takes of its samples. */
#define ROI_MODES "avg|max"
typedef enum RoiMode { ROI_MEANS, ROI_MAXIMA } RoiMode;

/* Whose results non-maximum suppression of all classes has. */
#define BOX_FORMATS "onnx|tensorflow"
typedef enum BoxFormat { BOXES_OF_ONNX, BOXES_OF_TENSORFLOW } BoxFormat;

/* Which way requantizing rounds a half. */
#define HALVES "UPWARD|TONEAREST|None"
typedef enum Halves { HALVES_UPWARD, HALVES_AWAY, HALVES_DEFAULT } Halves;

#endif
