"""What ONNX's own tools say of models: the checker, strict inference of shapes,
and where a release has it, the reference evaluator on the data beside a model.
Prints what is wrong.  The exit status is 77 where the package is missing.

    python3 tests/export/check.py MODEL.onnx...
"""
import glob
import os
import sys

# The tree's own folder onnx/ is no package.
sys.path = [p for p in sys.path if os.path.abspath(p) != os.getcwd()]
try:
    import onnx.checker
    import onnx.numpy_helper
    import onnx.shape_inference
    import numpy
except ImportError:
    sys.exit(77)
try:
    from onnx.reference import ReferenceEvaluator
except ImportError:
    ReferenceEvaluator = None


def tensors(folder, what):
    """The values of input_*.pb or output_*.pb; None where one is no tensor."""
    found = []
    for i in range(len(glob.glob(f"{folder}/{what}_*.pb"))):
        t = onnx.TensorProto()
        with open(f"{folder}/{what}_{i}.pb", "rb") as f:
            t.ParseFromString(f.read())
        if not t.data_type:
            return None
        found.append(onnx.numpy_helper.to_array(t))
    return found


def evaluate(path, model):
    folder = os.path.join(os.path.dirname(path), "test_data_set_0")
    given, wanted = tensors(folder, "input"), tensors(folder, "output")
    if not wanted or given is None:
        return
    names = [i.name for i in model.graph.input]
    found = ReferenceEvaluator(model).run(None, dict(zip(names, given)))
    for a, b in zip(found, wanted):
        numpy.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-7)


for path in sys.argv[1:]:
    try:
        model = onnx.load(path)
        onnx.checker.check_model(path, full_check=True)
        onnx.shape_inference.infer_shapes(model, strict_mode=True)
        if ReferenceEvaluator:
            evaluate(path, model)
    except Exception as wrong:  # each package has its own
        print(f"{path}: {str(wrong).strip()[:300]}")
