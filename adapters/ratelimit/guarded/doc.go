// Package guarded goes on limiting when the limiter that all processes share
// is slow or gone: the request is then counted by a limiter inside the process.
//
// Decisions that bind this package:
//
//   - No request fails or waits longer than 30 ms because of the shared limiter.
//     After five failures in a row a circuit breaker opens and requests are
//     counted locally at once; every second one of them tries the shared limiter
//     again, and the first that succeeds closes it.
//   - A shared limiter that failed may have counted the request all the same.
//     It is counted locally then, once more perhaps: too strict by one request, or
//     by those that were counted together with it, never an error. Refusing
//     instead was rejected, since an outage of the counter would be an outage of
//     the API.
//   - While requests are counted locally each process allows the whole limit,
//     and begins with empty windows. Counting every request in both all the
//     time was rejected: it buys a smoother first window of an outage with work
//     on each request of all other days.
//   - GiveBack goes where a Take would go now. A request that was charged by one
//     limiter and is given back to the other, because the state changed between
//     the two, moves that other one by one request, and never below none. So a
//     change costs at most as many requests as were under way. Remembering who
//     charged what was rejected: it needs an entry for each request.
//   - A caller who goes away says nothing about the shared limiter.
package guarded
