// Package guarded asks the limiter that all processes share, and goes on limiting when that one
// is slow or gone: the request is then counted by a limiter inside the process.
//
// Decisions that bind this package:
//
//   - No request fails or waits longer than 30 ms because of the shared limiter.
//     After five failures in a row a circuit breaker opens and requests are
//     counted locally at once; every second one of them tries the shared limiter
//     again, and the first that succeeds closes it.
//   - A shared limiter that failed may have counted the request all the same.
//     It is counted locally then, once more perhaps: too strict by one request,
//     never an error. Refusing instead was rejected, since an outage of the counter
//     would be an outage of the API.
//   - The local count goes on from the last one known: every answer of the shared
//     limiter is remembered, with what all processes had counted by then. So a
//     process admits in an outage what was left, and not the whole limit again.
//     What others admit meanwhile it cannot know: N processes admit at most N
//     times what was left, and each the whole limit of a bucket that it had not
//     asked for within two windows.
//   - What was counted locally is not told to the shared limiter afterwards: the requests of an
//     outage count against no limit after it, for a window. To tell it took debts with names, so
//     that none was counted twice, and more code than the rest of this package.
//   - To count ahead of the shared limiter, where there is ample room, was rejected too. It spared
//     Redis calls of 20 us each, and made the count of a limit a matter of time.
//   - GiveBack goes where a Take would go now. A request that was charged by one
//     limiter and is given back to the other, because the state changed between
//     the two, moves that other one by one request, and never below none. So a
//     change costs at most as many requests as were under way. Remembering the
//     limiter of each request was rejected: it takes an entry per request.
//   - A caller that goes away says nothing about the shared limiter.
package guarded
