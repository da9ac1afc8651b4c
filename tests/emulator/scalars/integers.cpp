// Integer intrinsics for test_integers.py.
#include "arrays.h"
#include "kbemu/integers.h"

using Int = int;
using Word = unsigned;
using Long = long long;
using DoubleWord = unsigned long long;

ONE(popc, int, Word, __popc(a))
ONE(popcll, int, DoubleWord, __popcll(a))
ONE(clz, int, int, __clz(a))
ONE(clzll, int, Long, __clzll(a))
ONE(ffs_, int, int, __ffs(a))
ONE(ffsll_, int, Long, __ffsll(a))
ONE(brev, Word, Word, __brev(a))
ONE(brevll, DoubleWord, DoubleWord, __brevll(a))
THREE(byte_perm, Word, Word, Word, Word, __byte_perm(a, b, c))
TWO(mulhi, int, int, int, __mulhi(a, b))
TWO(umulhi, Word, Word, Word, __umulhi(a, b))
TWO(mul64hi, Long, Long, Long, __mul64hi(a, b))
TWO(umul64hi, DoubleWord, DoubleWord, DoubleWord, __umul64hi(a, b))
TWO(mul24, int, int, int, __mul24(a, b))
TWO(umul24, Word, Word, Word, __umul24(a, b))
THREE(sad, Word, int, int, Word, __sad(a, b, c))
THREE(usad, Word, Word, Word, Word, __usad(a, b, c))
TWO(hadd, int, int, int, __hadd(a, b))
TWO(rhadd, int, int, int, __rhadd(a, b))
TWO(uhadd, Word, Word, Word, __uhadd(a, b))
TWO(urhadd, Word, Word, Word, __urhadd(a, b))
THREE(funnelshift_l, Word, Word, Word, Word, __funnelshift_l(a, b, c))
THREE(funnelshift_r, Word, Word, Word, Word, __funnelshift_r(a, b, c))
THREE(funnelshift_lc, Word, Word, Word, Word, __funnelshift_lc(a, b, c))
THREE(funnelshift_rc, Word, Word, Word, Word, __funnelshift_rc(a, b, c))
THREE(fns, Word, Word, Word, int, __fns(a, b, c))
THREE(dp4a_signed, int, int, int, int, __dp4a(a, b, c))
THREE(dp4a_unsigned, Word, Word, Word, Word, __dp4a(a, b, c))
THREE(dp2a_lo, int, int, int, int, __dp2a_lo(a, b, c))
THREE(dp2a_hi, Word, Word, Word, Word, __dp2a_hi(a, b, c))

#define PACKED(name) \
    TWO(name##2, Word, Word, Word, __##name##2(a, b)) \
    TWO(name##4, Word, Word, Word, __##name##4(a, b))
#define PACKED_ONE(name) \
    ONE(name##2, Word, Word, __##name##2(a)) \
    ONE(name##4, Word, Word, __##name##4(a))

PACKED(vadd)
PACKED(vaddss)
PACKED(vaddus)
PACKED(vsub)
PACKED(vsubss)
PACKED(vsubus)
PACKED(vavgs)
PACKED(vavgu)
PACKED(vhaddu)
PACKED(vmaxs)
PACKED(vmaxu)
PACKED(vmins)
PACKED(vminu)
PACKED(vabsdiffs)
PACKED(vabsdiffu)
PACKED(vsads)
PACKED(vsadu)
PACKED(vcmpeq)
PACKED(vcmpgts)
PACKED(vcmpleu)
PACKED(vsetne)
PACKED(vsetlts)
PACKED(vsetgeu)
PACKED_ONE(vabs)
PACKED_ONE(vabsss)
PACKED_ONE(vneg)
PACKED_ONE(vnegss)

THREE(vimax3_s32, int, int, int, int, __vimax3_s32(a, b, c))
THREE(viaddmin_u32, Word, Word, Word, Word, __viaddmin_u32(a, b, c))
THREE(viaddmax_s16x2_relu, Word, Word, Word, Word, __viaddmax_s16x2_relu(a, b, c))

inline unsigned origin_of_maximum(unsigned a, unsigned b) {
    bool high, low;
    __vibmax_s16x2(a, b, &high, &low);
    return high * 2 + low;
}
TWO(vibmax_s16x2, Word, Word, Word, origin_of_maximum(a, b))
