"""Measured by tests/gpu/measure_steps.py: sizes, and what lesson 10's kernels need."""

# fmt: off
CARD = 'NVIDIA H200'
CAPABILITY = (9, 0)
DRIVER = '580.159.04'
TORCH = '2.11.0'
TRITON = '3.6.0'
DATE = '2026-11-30'
CHIP = {'card': 'NVIDIA H200',
 'SMs': 132,
 'threads of a warp': 32,
 'threads that an SM holds': 2048,
 'register bytes of an SM': 262144,
 'shared bytes of an SM': 233472,
 'shared bytes of a thread block': 232448,
 'L2 bytes': 62914560,
 'HBM bytes': 150109880320}
ANSWERS = {'a global variable in a kernel': 'refused: NameError("Cannot access global variable BLOCK from within @jit\'ed function. Triton kernels can only access '
                                  'global variables that are instanstiated as constexpr (`x = triton.language.constexpr(42)`). Note that this is different '
                                  'from annotating a variable as constexpr (`x: triton.language.constexpr = 42`), which is not supported.  Alternatively, set '
                                  'the envvar TRITON_ALLOW_NON_CONSTEXPR_GLOBALS=1, but we do not promise to support this forever.")',
 'tl.dot with 8 features': 'refused: Input shapes should have M >= 1, N >= 1 and K >= 16',
 '32 products 1 · 1 in bfloat16': 'accepted, 32',
 'float32 products that sum to 32.0156': 'accepted, 32'}
RESOURCES_METHOD = 'largest_score, 32 heads, N = 4096, d = 64, float16, tiles of 64 × 64, median of do_bench'
RESOURCES = [{'num_warps': 1, 'num_stages': 1, 'registers': 168, 'spills': 0, 'shared': 9216, 'ms': 0.261},
 {'num_warps': 1, 'num_stages': 2, 'registers': 238, 'spills': 0, 'shared': 16384, 'ms': 0.201},
 {'num_warps': 1, 'num_stages': 3, 'registers': 240, 'spills': 0, 'shared': 24576, 'ms': 0.176},
 {'num_warps': 1, 'num_stages': 4, 'registers': 240, 'spills': 0, 'shared': 32768, 'ms': 0.217},
 {'num_warps': 2, 'num_stages': 1, 'registers': 95, 'spills': 0, 'shared': 10240, 'ms': 0.303},
 {'num_warps': 2, 'num_stages': 2, 'registers': 128, 'spills': 0, 'shared': 16896, 'ms': 0.241},
 {'num_warps': 2, 'num_stages': 3, 'registers': 128, 'spills': 0, 'shared': 25088, 'ms': 0.23},
 {'num_warps': 2, 'num_stages': 4, 'registers': 128, 'spills': 0, 'shared': 33280, 'ms': 0.236},
 {'num_warps': 4, 'num_stages': 1, 'registers': 70, 'spills': 0, 'shared': 16384, 'ms': 0.206},
 {'num_warps': 4, 'num_stages': 2, 'registers': 60, 'spills': 0, 'shared': 24576, 'ms': 0.188},
 {'num_warps': 4, 'num_stages': 3, 'registers': 58, 'spills': 0, 'shared': 32768, 'ms': 0.174},
 {'num_warps': 4, 'num_stages': 4, 'registers': 60, 'spills': 0, 'shared': 40960, 'ms': 0.175},
 {'num_warps': 8, 'num_stages': 1, 'registers': 48, 'spills': 0, 'shared': 16384, 'ms': 0.321},
 {'num_warps': 8, 'num_stages': 2, 'registers': 44, 'spills': 0, 'shared': 25088, 'ms': 0.256},
 {'num_warps': 8, 'num_stages': 3, 'registers': 42, 'spills': 0, 'shared': 33280, 'ms': 0.238},
 {'num_warps': 8, 'num_stages': 4, 'registers': 42, 'spills': 0, 'shared': 41472, 'ms': 0.237}]
