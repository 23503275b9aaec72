/* 128-bit numbers for the few divisions that 64 bits cannot hold. Pure. [any] */
#ifndef SRV_CLOCK_WIDE_H
#define SRV_CLOCK_WIDE_H

__extension__ typedef unsigned __int128 srv_wide;

static inline srv_wide srv_wide_gcd(srv_wide a, srv_wide b)
{
    while (b != 0) {
        const srv_wide rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

#endif
