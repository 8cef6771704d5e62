// Package redisserver starts throw-away Redis servers from the binary that is
// installed on this machine.
//
// A server listens on 127.0.0.1 only, asks for no password, and keeps nothing
// on disk: what it holds is gone with its process, as in the worst case of
// production. Its temporary directory is removed by Stop. Its parent's death
// ends it (on Linux; elsewhere only Stop does).
//
// Besides being killed and started again it can be paused: a paused Redis
// accepts connections, since the kernel does that, and never answers. Clients
// tell that apart from one that is gone by waiting only.
package redisserver
