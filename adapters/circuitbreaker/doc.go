// Package circuitbreaker is what adapters share that ask a service over the network:
// when to stop asking one that is gone, and how its connections are shared.
//
// Decisions that bind this package:
//
//   - A question that fails is not a service that is gone. Any answer, whatever
//     it says, shows that the service is there; only a connection that is refused
//     or ends, a name that is not found and a time-out show that it is not.
//   - One caller cannot open the breaker of a priced service: that takes failures
//     of several different questions by several callers, and no answer to any of
//     them since.
//   - An open breaker is so for callers whose own calls failed since the last
//     answer: of two businesses whose trips are slow to be answered a third feels
//     nothing, and in an outage each loses one time-out.
//   - An open breaker lets a share of their calls through, one each Interval, also
//     while earlier ones hang. Any answer closes it. A half-open state with a
//     fixed number of tries, as sony/gobreaker has it, was rejected: while the
//     tries hang until their time-out a service that is back stays unnoticed.
//   - Live and the sandbox have breakers and connections of their own, and of
//     those one business uses half at most. So neither hanging answers nor
//     failures of the sandbox are felt on live.
//
// It serves no port and imports only domain; it is the one package below adapters
// that other adapters may import.
package circuitbreaker
