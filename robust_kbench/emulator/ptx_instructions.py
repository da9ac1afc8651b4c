"""Table of the PTX instructions that are emulated, each with its C++ function of include/kbemu/ptx.

A row of `INSTRUCTIONS` holds an opcode as the PTX manual writes it and a call. In the opcode, `{…}` is optional, `*`
repeats, and a word that names a set of `CHOICES` or `TYPES` stands for each of its members. In the call, `d` is the
destination and an argument is the type as which the next operand is read:

- a PTX type, or `T`, the type that the opcode ends in;
- `[space]`: an address in the opcode's state space, or in the one named;
- `raw`, `raw T`: the register as it is, or several packed into a `T`;
- `carry`: the carry bit, which is no operand;
- a trailing `?` marks an operand that may be missing, and `...` stands for operands that do not matter.

Between `<…>` stand template arguments: members of the opcode, or literal C++.
"""

from collections.abc import Mapping, Sequence

TYPES: Mapping[str, str] = {
    "int": "u16 s16 u32 s32 u64 s64",
    "int32": "u16 s16 u32 s32",
    "word": "u32 s32",
    "signed": "s16 s32 s64",
    "wordlong": "u32 s32 u64 s64",
    "bits": "b16 b32 b64",
    "bitword": "b32 b64",
    "logic": "pred b16 b32 b64",
    "shifted": "b16 b32 b64 u16 u32 u64 s16 s32 s64",
    "scalar": "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64",
    "movable": "pred b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64",
    "stored": "b8 u8 s8 b16 u16 s16 b32 u32 s32 b64 u64 s64 f32 f64",
    "compared": "b16 b32 b64 u16 u32 u64 s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64",
    "real": "f32 f64",
    "half": "f16 f16x2 bf16 bf16x2",
    "float": "f16 f16x2 bf16 bf16x2 f32 f64",
    "singlehalf": "f32 f16 f16x2 bf16 bf16x2",
    "added": "u32 s32 u64 f32 f64 f16 f16x2 bf16 bf16x2",
    "ordered": "u32 s32 u64 s64",
    "addedvector": "f32 f16 f16x2 bf16 bf16x2",
}

_CONVERTED = "u8 s8 u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64"


def _same(names: str) -> dict[str, str]:
    return {name: name for name in names.split()}


def _flag(name: str) -> dict[str, str]:
    return {"": "false", name: "true"}


CHOICES: Mapping[str, Mapping[str, str]] = {
    "dtype": _same(_CONVERTED),
    "atype": _same(_CONVERTED),
    "btype": _same("u32 s32"),
    "truth": _same("u32 s32 f32"),
    "selector": _same("s32 f32"),
    "small": _same("f16 bf16"),
    "pair": _same("f16x2 bf16x2"),
    "fp8": _same("e4m3x2 e5m2x2"),
    "packed": _same("u16 s16"),
    "packedbyte": _same("u8 s8"),
    "round": {"": "kNearest", "rn": "kNearest", "rz": "kZero", "rm": "kDown", "rp": "kUp"},
    "frnd": {"rn": "kNearest", "rz": "kZero"},
    "anyround": {"": "kNearest", "rn": "kNearest", "rz": "kZero", "rm": "kDown", "rp": "kUp"}
    | {"rni": "kNearestInteger", "rzi": "kZeroInteger", "rmi": "kDownInteger", "rpi": "kUpInteger"},
    "to": _flag("to"),
    "cc": _flag("cc"),
    "part": _same("lo hi"),
    "sat": _flag("sat"),
    "relu": _flag("relu"),
    "satfinite": _flag("satfinite"),
    "NaN": _flag("NaN"),
    "xorsign": _flag("xorsign_abs"),
    "trans": _flag("trans"),
    "cmp": _same("eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan"),
    "bool": {"and": "and_", "or": "or_", "xor": "xor_"},
    "test": _same("finite infinite number notanumber normal subnormal"),
    "prmtmode": {"": "index", **_same("f4e b4e rc8 ecl ecr rc16")},
    "funnel": _same("clamp wrap"),
    "order": {"": "kWeak", "weak": "kWeak", "volatile": "kRelaxed", "mmio": "kRelaxed"}
    | {"relaxed": "kRelaxed", "acquire": "kAcquire", "release": "kRelease", "acq_rel": "kAcquireRelease"},
    "sem": {"": "kRelaxed", "relaxed": "kRelaxed", "acquire": "kAcquire", "release": "kRelease"}
    | {"acq_rel": "kAcquireRelease"},
    "fencing": dict.fromkeys(("sc", "acq_rel", "acquire", "release"), "0"),
    "scope": dict.fromkeys(("", "cta", "cluster", "gpu", "sys"), "0"),
    "extent": {"cta": "kFenceBlock", "cluster": "kFenceDevice", "gl": "kFenceDevice", "gpu": "kFenceDevice"}
    | {"sys": "kFenceSystem"},
    "space": {"": "kGeneric", "global": "kGlobal", "shared": "kShared", "shared::cta": "kShared"}
    | {"const": "kConstant", "local": "kLocal"},
    "smem": {"shared": "0", "shared::cta": "0"},
    "cop": dict.fromkeys(("", "ca", "cg", "cs", "lu", "cv", "wb", "wt"), "0"),
    "level": dict.fromkeys(("L1", "L2", "L2::evict_last", "L2::evict_normal"), "0"),
    "hint": dict.fromkeys(
        [f"L{n}::evict_{when}" for n in (1, 2) for when in ("normal", "unchanged", "first", "last")]
        + ["L1::no_allocate", "L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"],
        "0",
    ),
    "vec": {"": "1", "v2": "2", "v4": "4"},
    "atomvec": {"v2": "2", "v4": "4", "v8": "8"},
    "bitop": _same("and or xor"),
    "minmax": _same("min max"),
    "incdec": _same("inc dec"),
    "reduction": _same("add min max and or xor"),
    "shuffle": _same("up down bfly idx"),
    "vote": _same("all any uni"),
    "num": {"x1": "1", "x2": "2", "x4": "4"},
    "accumulator": {"f16": "f16", "f32": "f32"},
    "int8a": _same("s8 u8"),
    "int8b": _same("s8 u8"),
    "int4a": _same("s4 u4"),
    "int4b": _same("s4 u4"),
    "fp8a": _same("e4m3 e5m2"),
    "fp8b": _same("e4m3 e5m2"),
    "halfk": {"m16n8k8": "8", "m16n8k16": "16"},
    "tf32k": {"m16n8k4": "4", "m16n8k8": "8"},
    "int8k": {"m16n8k16": "16", "m16n8k32": "32"},
    "int4k": {"m16n8k32": "32", "m16n8k64": "64"},
    "f64k": {"m16n8k4": "4", "m16n8k8": "8", "m16n8k16": "16"},
}

_INTEGERS = (
    ("add.int", "d = add(T, T)"),
    ("add.sat.s32", "d = add_saturating(s32, s32)"),
    ("sub.int", "d = sub(T, T)"),
    ("sub.sat.s32", "d = sub_saturating(s32, s32)"),
    ("mul.lo.int", "d = mul_lo(T, T)"),
    ("mul.hi.int", "d = mul_hi(T, T)"),
    ("mul.wide.int32", "d = mul_wide(T, T)"),
    ("mad.lo.int", "d = mad_lo(T, T, T)"),
    ("mad.hi.int", "d = mad_hi(T, T, T)"),
    ("mad.wide.int32", "d = mad_wide(T, T, wide<T>)"),
    ("mul24.lo.word", "d = mul24_lo(T, T)"),
    ("mul24.hi.word", "d = mul24_hi(T, T)"),
    ("mad24.lo.word", "d = mad24_lo(T, T, T)"),
    ("add.cc.wordlong", "d = add_carry<false, true>(T, T, carry)"),
    ("addc{.cc}.wordlong", "d = add_carry<true, cc>(T, T, carry)"),
    ("sub.cc.wordlong", "d = sub_carry<false, true>(T, T, carry)"),
    ("subc{.cc}.wordlong", "d = sub_carry<true, cc>(T, T, carry)"),
    ("mad.part.cc.wordlong", "d = mad_carry<part_part, false, true>(T, T, T, carry)"),
    ("madc.part{.cc}.wordlong", "d = mad_carry<part_part, true, cc>(T, T, T, carry)"),
    ("sad.int", "d = sad(T, T, T)"),
    ("div.int", "d = div(T, T)"),
    ("rem.int", "d = rem(T, T)"),
    ("abs.signed", "d = absolute(T)"),
    ("neg.signed", "d = negate(T)"),
    ("min.int", "d = minimum(T, T)"),
    ("max.int", "d = maximum(T, T)"),
    ("dp4a.btype.word", "d = dp4a<btype, T>(b32, b32, b32)"),
    ("dp2a.lo.btype.word", "d = dp2a<0, btype, T>(b32, b32, b32)"),
    ("dp2a.hi.btype.word", "d = dp2a<2, btype, T>(b32, b32, b32)"),
)

_BITS = (
    ("and.logic", "d = bit_and(T, T)"),
    ("or.logic", "d = bit_or(T, T)"),
    ("xor.logic", "d = bit_xor(T, T)"),
    ("not.logic", "d = bit_not(T)"),
    ("cnot.bits", "d = cnot(T)"),
    ("lop3.b32", "d = lop3(b32, b32, b32, u32)"),
    ("lop3.bool.b32", "d = lop3_test<bool>(b32, b32, b32, u32, pred)"),
    ("shl.bits", "d = shl(T, u32)"),
    ("shr.shifted", "d = shr(T, u32)"),
    ("shf.l.funnel.b32", "d = shf_left<funnel>(b32, b32, u32)"),
    ("shf.r.funnel.b32", "d = shf_right<funnel>(b32, b32, u32)"),
    ("prmt.b32{.prmtmode}", "d = prmt<prmtmode>(b32, b32, u32)"),
    ("bfe.wordlong", "d = bfe(T, u32, u32)"),
    ("bfi.bitword", "d = bfi(T, T, u32, u32)"),
    ("bfind.wordlong", "d = bfind(T)"),
    ("bfind.shiftamt.wordlong", "d = bfind_shift(T)"),
    ("brev.bitword", "d = brev(T)"),
    ("clz.bitword", "d = clz(T)"),
    ("popc.bitword", "d = popc(T)"),
)

_FLOATS = (
    ("add{.round}{.ftz}{.sat}.f32", "d = add<round>(f32, f32)"),
    ("sub{.round}{.ftz}{.sat}.f32", "d = sub<round>(f32, f32)"),
    ("mul{.round}{.ftz}{.sat}.f32", "d = mul<round>(f32, f32)"),
    ("add{.round}.f64", "d = add<round>(f64, f64)"),
    ("sub{.round}.f64", "d = sub<round>(f64, f64)"),
    ("mul{.round}.f64", "d = mul<round>(f64, f64)"),
    ("fma.round{.ftz}{.sat}.f32", "d = fma<round>(f32, f32, f32)"),
    ("mad.round{.ftz}{.sat}.f32", "d = fma<round>(f32, f32, f32)"),
    ("fma.round.f64", "d = fma<round>(f64, f64, f64)"),
    ("mad.round.f64", "d = fma<round>(f64, f64, f64)"),
    ("add{.rn}{.ftz}{.sat}.half", "d = add(T, T)"),
    ("sub{.rn}{.ftz}{.sat}.half", "d = sub(T, T)"),
    ("mul{.rn}{.ftz}{.sat}.half", "d = mul(T, T)"),
    ("fma.rn{.ftz}{.sat}.half", "d = fma(T, T, T)"),
    ("fma.rn{.ftz}{.relu}.half", "d = fma(T, T, T)"),
    ("min{.ftz}{.NaN}{.xorsign}.float", "d = minimum<NaN, xorsign>(T, T)"),
    ("max{.ftz}{.NaN}{.xorsign}.float", "d = maximum<NaN, xorsign>(T, T)"),
    ("abs{.ftz}.float", "d = absolute(T)"),
    ("neg{.ftz}.float", "d = negate(T)"),
    ("copysign.real", "d = copysign(T, T)"),
    ("div.approx{.ftz}.f32", "d = div(f32, f32)"),
    ("div.full{.ftz}.f32", "d = div(f32, f32)"),
    ("div.round{.ftz}.f32", "d = div<round>(f32, f32)"),
    ("div.round.f64", "d = div<round>(f64, f64)"),
    ("rcp.approx{.ftz}.real", "d = rcp(T)"),
    ("rcp.round{.ftz}.f32", "d = rcp<round>(f32)"),
    ("rcp.round.f64", "d = rcp<round>(f64)"),
    ("sqrt.approx{.ftz}.f32", "d = sqrt(f32)"),
    ("sqrt.round{.ftz}.f32", "d = sqrt<round>(f32)"),
    ("sqrt.round.f64", "d = sqrt<round>(f64)"),
    ("rsqrt.approx{.ftz}.real", "d = rsqrt(T)"),
    ("sin.approx{.ftz}.f32", "d = sin(f32)"),
    ("cos.approx{.ftz}.f32", "d = cos(f32)"),
    ("lg2.approx{.ftz}.f32", "d = lg2(f32)"),
    ("ex2.approx{.ftz}.singlehalf", "d = ex2(T)"),
    ("tanh.approx.singlehalf", "d = tanh(T)"),
    ("testp.test.real", "d = testp<test>(T)"),
)

_COMPARISONS = (
    ("setp.cmp{.ftz}.compared", "d = setp<cmp>(T, T)"),
    ("setp.cmp.bool{.ftz}.compared", "d = setp<cmp, bool>(T, T, pred)"),
    ("set.cmp{.ftz}.truth.scalar", "d = set_if<cmp, truth>(T, T)"),
    ("set.cmp.bool{.ftz}.truth.scalar", "d = set_if<cmp, truth, bool>(T, T, pred)"),
    ("selp.scalar", "d = selp(T, T, pred)"),
    ("slct{.ftz}.scalar.selector", "d = slct(T, T, selector)"),
)

_CONVERSIONS = (
    ("mov.movable", "d = move<T>(raw T)"),
    ("cvt{.anyround}{.ftz}{.sat}.dtype.atype", "d = convert<dtype, anyround, sat>(atype)"),
    ("cvt.frnd{.relu}{.satfinite}.small.f32", "d = narrow<small, frnd, relu, satfinite>(f32)"),
    ("cvt.frnd{.relu}{.satfinite}.pair.f32", "d = narrow_pair<pair, frnd, relu, satfinite>(f32, f32)"),
    ("cvt.rna{.satfinite}.tf32.f32", "d = narrow<tf32, kNearestAway, false, satfinite>(f32)"),
    ("cvt.frnd{.relu}.tf32.f32", "d = narrow<tf32, frnd, relu>(f32)"),
    ("cvt.rn.satfinite{.relu}.fp8.f32", "d = narrow_pair<fp8, kNearest, relu, true>(f32, f32)"),
    ("cvt.rn.satfinite{.relu}.fp8.f16x2", "d = narrow_pair<fp8, kNearest, relu, true>(f16x2)"),
    ("cvt.rn{.relu}.f16x2.fp8", "d = widen_pair<fp8>(fp8)"),
    ("cvt.pack.sat.packed.s32", "d = pack_saturating<packed>(s32, s32)"),
    ("cvt.pack.sat.packedbyte.s32.b32", "d = pack_saturating<packedbyte>(s32, s32, b32)"),
    ("cvta{.to}.space.u32", "d = cvta<space, to>(u32)"),
    ("cvta{.to}.space.u64", "d = cvta<space, to>(u64)"),
    ("isspacep.space", "d = isspacep<space>(u64)"),
)

_MEMORY = (
    ("ld{.order}{.scope}{.space}{.cop}{.nc}{.hint*}{.vec}.stored", "d = load<T, vec, order>([space])"),
    ("ldu{.space}{.vec}.stored", "d = load<T, vec, kWeak>([space])"),
    ("st{.order}{.scope}{.space}{.cop}{.hint*}{.vec}.stored", "store<T, vec, order>([space], T)"),
    ("prefetch{.space}.level", "nothing(...)"),
    ("prefetchu.L1", "nothing(...)"),
    ("applypriority{.space}.level", "nothing(...)"),
    ("createpolicy.rest*", "d = cache_policy(...)"),
    ("membar.extent", "fence<extent>()"),
    ("fence{.fencing}.extent", "fence<extent>()"),
    ("fence.proxy.rest*", "nothing(...)"),
    ("atom{.sem}{.scope}{.space}.bitop{.hint}.bitword", "d = atomic<atom_bitop, sem>([space], T)"),
    ("atom{.sem}{.scope}{.space}.exch{.hint}.bitword", "d = atomic<atom_exch, sem>([space], T)"),
    ("atom{.sem}{.scope}{.space}.add{.noftz}{.hint}.added", "d = atomic<atom_add, sem>([space], T)"),
    ("atom{.sem}{.scope}{.space}.minmax{.hint}.ordered", "d = atomic<atom_minmax, sem>([space], T)"),
    ("atom{.sem}{.scope}{.space}.incdec{.hint}.u32", "d = atomic<atom_incdec, sem>([space], u32)"),
    ("atom{.sem}{.scope}{.space}.cas{.hint}.bits", "d = atomic_cas<sem>([space], T, T)"),
    ("atom{.sem}{.scope}{.space}.add{.noftz}{.hint}.atomvec.addedvector", "d = atomic<atom_add, sem>([space], T)"),
    ("red{.sem}{.scope}{.space}.bitop{.hint}.bitword", "atomic<atom_bitop, sem>([space], T)"),
    ("red{.sem}{.scope}{.space}.add{.noftz}{.hint}.added", "atomic<atom_add, sem>([space], T)"),
    ("red{.sem}{.scope}{.space}.minmax{.hint}.ordered", "atomic<atom_minmax, sem>([space], T)"),
    ("red{.sem}{.scope}{.space}.incdec{.hint}.u32", "atomic<atom_incdec, sem>([space], u32)"),
    ("red{.sem}{.scope}{.space}.add{.noftz}{.hint}.atomvec.addedvector", "atomic<atom_add, sem>([space], T)"),
)

_WARPS_AND_BLOCKS = (
    ("bar{.cta}.sync", "barrier_sync(u32, u32?)"),
    ("bar{.cta}.arrive", "barrier_arrive(u32, u32)"),
    ("barrier{.cta}.sync{.aligned}", "barrier_sync(u32, u32?)"),
    ("barrier{.cta}.arrive{.aligned}", "barrier_arrive(u32, u32)"),
    ("bar{.cta}.red.popc.u32", "d = barrier_count(u32, pred)"),
    ("bar{.cta}.red.and.pred", "d = barrier_and(u32, pred)"),
    ("bar{.cta}.red.or.pred", "d = barrier_or(u32, pred)"),
    ("barrier{.cta}.red.popc{.aligned}.u32", "d = barrier_count(u32, pred)"),
    ("barrier{.cta}.red.and{.aligned}.pred", "d = barrier_and(u32, pred)"),
    ("barrier{.cta}.red.or{.aligned}.pred", "d = barrier_or(u32, pred)"),
    ("bar.warp.sync", "warp_sync(u32)"),
    ("shfl.sync.shuffle.b32", "d = shfl<shfl_shuffle>(b32, u32, u32, u32)"),
    ("vote.sync.vote.pred", "d = vote<vote_vote>(pred, u32)"),
    ("vote.sync.ballot.b32", "d = ballot(pred, u32)"),
    ("match.any.sync.bitword", "d = match_any(T, u32)"),
    ("match.all.sync.bitword", "d = match_all(T, u32)"),
    ("redux.sync.reduction.word", "d = redux<atom_reduction>(T, u32)"),
    ("redux.sync.bitop.b32", "d = redux<atom_bitop>(b32, u32)"),
    ("activemask.b32", "d = activemask()"),
    ("elect.sync", "d = elect(u32)"),
    ("nanosleep.u32", "nanosleep(u32)"),
    ("trap", "trap()"),
    ("brkpt", "trap()"),
    ("exit", "exit_thread()"),
    ("pmevent", "nothing(...)"),
    ("griddepcontrol.rest*", "nothing(...)"),
)

_ASYNCHRONOUS_COPIES = (
    ("cp.async.ca.smem.global{.hint*}", "copy_async([shared], [global], u32, raw?)"),
    ("cp.async.cg.smem.global{.hint*}", "copy_async([shared], [global], u32, raw?)"),
    ("cp.async.commit_group", "commit_copies()"),
    ("cp.async.wait_group", "wait_copies(u32)"),
    ("cp.async.wait_all", "wait_all_copies()"),
)

_MATRICES = (
    ("ldmatrix.sync.aligned.m8n8.num{.trans}{.space}.b16", "d = load_matrices<num, trans>([space])"),
    ("stmatrix.sync.aligned.m8n8.num{.trans}{.space}.b16", "store_matrices<num, trans>([space], b32)"),
    ("movmatrix.sync.aligned.m8n8.trans.b16", "d = transpose_matrix(b32)"),
)

_MMA = "mma.sync.aligned."
_MULTIPLY = (
    ("halfk.row.col.accumulator.f16.f16.accumulator", "16, 8, halfk, f16, f16, accumulator", "b32"),
    ("halfk.row.col.f32.bf16.bf16.f32", "16, 8, halfk, bf16, bf16, f32", "b32"),
    ("tf32k.row.col.f32.tf32.tf32.f32", "16, 8, tf32k, tf32, tf32, f32", "b32"),
    ("m8n8k4.row.col.f64.f64.f64.f64", "8, 8, 4, f64, f64, f64", "b64"),
    ("f64k.row.col.f64.f64.f64.f64", "16, 8, f64k, f64, f64, f64", "b64"),
    ("m8n8k16.row.col{.satfinite}.s32.int8a.int8b.s32", "8, 8, 16, int8a, int8b, s32, satfinite", "b32"),
    ("int8k.row.col{.satfinite}.s32.int8a.int8b.s32", "16, 8, int8k, int8a, int8b, s32, satfinite", "b32"),
    ("m8n8k32.row.col{.satfinite}.s32.int4a.int4b.s32", "8, 8, 32, int4a, int4b, s32, satfinite", "b32"),
    ("int4k.row.col{.satfinite}.s32.int4a.int4b.s32", "16, 8, int4k, int4a, int4b, s32, satfinite", "b32"),
    ("m16n8k32.row.col.f32.fp8a.fp8b.f32", "16, 8, 32, fp8a, fp8b, f32", "b32"),
)
_PRODUCTS = tuple((_MMA + shape, f"d = mma<{types}>({b}, {b}, {b})") for shape, types, b in _MULTIPLY)

INSTRUCTIONS: Sequence[tuple[str, str]] = (
    *_INTEGERS,
    *_BITS,
    *_FLOATS,
    *_COMPARISONS,
    *_CONVERSIONS,
    *_MEMORY,
    *_WARPS_AND_BLOCKS,
    *_ASYNCHRONOUS_COPIES,
    *_MATRICES,
    *_PRODUCTS,
)
