// Package dexserver starts throw-away Dexes, OpenID Connect providers, from the module in
// .tools/dex. The first start on a machine builds it, which takes a minute of two
// processors; what Go has built before is taken from its cache.
//
// A Dex keeps everything in memory, listens on 127.0.0.1 only, and ends with the process
// that started it. Every account has the password Password.
package dexserver
