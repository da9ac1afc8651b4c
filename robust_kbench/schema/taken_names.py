"""Names that compiled code cannot give to something of its own: words of C++, and names that its headers declare."""

from __future__ import annotations

_OF_MATH = (
    "acos acosh asin asinh atan atan2 atanh canonicalize cbrt ceil copysign cos cosh drem erf erfc exp exp10 exp2 "
    "expm1 fabs fdim finite floor fma fmax fmaximum fmin fminimum fmod frexp fromfp gamma hypot ilogb j0 j1 jn ldexp "
    "lgamma llogb llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nextdown "
    "nexttoward nextup pow remainder remquo rint round roundeven scalb scalbln scalbn significand sin sincos sinh "
    "sqrt tan tanh tgamma totalorder trunc y0 y1 yn "
)
_OF_CUDA = (
    "abs cospi cyl_bessel_i0 cyl_bessel_i1 erfcinv erfcx erfinv fdivide max min norm norm3d norm4d normcdf normcdfinv "
    "rcbrt rhypot rnorm rnorm3d rnorm4d rsqrt sincospi sinpi "
)
_OF_CUDA_ALONE = (
    "blockDim blockIdx clock64 dim3 gridDim half half2 llmax llmin threadIdx ullmax ullmin umax umin warpSize "
)
_OF_C = (
    "abort alloca assert atexit atof atoi atol atoll bcmp bcopy bsearch bzero calloc clock ctime difftime div exit "
    "fadd fclose fdiv ffma ffs ffsl ffsll fmul fopen fprintf fread free fsqrt fsub fwrite getenv getline gmtime labs "
    "ldiv llabs lldiv localtime main malloc memccpy memchr memcmp memcpy memmove mempcpy memset mktemp mktime "
    "nanosleep perror printf putchar puts qsort rand random realloc remove rename rewind scanf select setenv snprintf "
    "sprintf srand srandom strcat strchr strcmp strcpy strlen strncmp strncpy strstr strtod strtof strtok strtol "
    "system time tmpfile tolower toupper ungetc valloc "
)
_TYPES = (
    "float_t double_t int8_t int16_t int32_t int64_t intmax_t intptr_t ptrdiff_t size_t ssize_t std time_t uint "
    "uint8_t uint16_t uint32_t uint64_t uintmax_t uintptr_t ulong ushort "
)
_WORDS = (
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class compl const "
    "const_cast constexpr continue decltype default delete do double dynamic_cast else enum explicit export extern "
    "false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or "
    "or_eq private protected public register reinterpret_cast return short signed sizeof static static_assert "
    "static_cast struct switch template this thread_local throw true try typedef typeid typename typeof union "
    "unsigned using virtual void volatile wchar_t while xor xor_eq "
)
_OF_KBENCH = (  # in what is compiled with a source
    "KBENCH_T kbench_bfloat16 kbench_guarded_entry_point kbench_half kbench_launch_kernels kbench_scratch "
)
_VECTORS_OF_CUDA = "char uchar short ushort int uint long ulong longlong ulonglong float double "
_OF_COMPILERS = frozenset(
    [
        *f"{_OF_C}{_TYPES}{_WORDS}{_OF_KBENCH}".split(),
        *(f"{name}{suffix}" for name in [*_OF_MATH.split(), "abs"] for suffix in ("", "f", "l")),
    ]
)
_TAKEN: dict[str, frozenset[str]] = {
    "cpp": _OF_COMPILERS,
    "cuda": _OF_COMPILERS
    | {*_OF_CUDA_ALONE.split(), *(f"{kind}{length}" for kind in _VECTORS_OF_CUDA.split() for length in (1, 2, 3, 4))}
    | {f"{name}{suffix}" for name in _OF_CUDA.split() for suffix in ("", "f")},
}


def is_taken(name: str, language: str) -> bool:
    """Tell if a compiler of `language` knows `name` already. Nothing with the linkage of C can have such a name."""
    return name in _TAKEN.get(language, ())


def objection(name: str, language: str) -> str | None:
    """Return the objection to a kernel that is called `name`, with another name for it; None if there is none."""
    if not is_taken(name, language):
        return None
    return f"{name!r} is a name of C, C++ or CUDA already; rename it to {name}_kernel"
