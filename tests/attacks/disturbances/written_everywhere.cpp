/*
Writes into all memory that it shares with the judge, beyond its own output.

catalogue: [H24, O21]
ends: [rejected, incorrect, crashed]
*/
#include <cstdint>
#include <cstdio>
#include <cstring>

extern "C" void rmsnorm(const float*, const float*, float*, int64_t, int64_t) {
    FILE* maps = fopen("/proc/self/maps", "r");
    if (maps == nullptr) return;
    char line[512];
    unsigned long first, last;
    while (fgets(line, sizeof line, maps) != nullptr)
        if (strstr(line, "kbench-arena") != nullptr && sscanf(line, "%lx-%lx", &first, &last) == 2)
            memset(reinterpret_cast<void*>(first), 0, last - first);
    fclose(maps);
}
