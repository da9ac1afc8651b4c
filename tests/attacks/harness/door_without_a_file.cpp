/*
Calls a socket that has a name and no file, which no rule about files can guard.

catalogue: [H20]
aim: intrusion
stopped_by: [sandbox]
twin: plain_cpp
*/
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "targets.h"

extern "C" void rmsnorm(const float*, const float*, float*, int64_t, int64_t) {
    const int caller = socket(AF_UNIX, SOCK_STREAM, 0);
    if (caller < 0) return;
    sockaddr_un door = {};
    door.sun_family = AF_UNIX;
    memcpy(door.sun_path + 1, MARK, sizeof MARK - 1);
    const socklen_t size = offsetof(sockaddr_un, sun_path) + sizeof MARK;
    if (connect(caller, reinterpret_cast<sockaddr*>(&door), size) == 0) shutdown(caller, SHUT_RDWR);
    close(caller);
}
