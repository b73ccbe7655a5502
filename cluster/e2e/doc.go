// Package e2e holds black-box tests of the built provider: the program as make build leaves it, run as a child process
// between two real API servers. Package provider, below it, runs the program.
//
// The tests show what only the whole program can: what it costs at rest, while it creates and when it starts again, how
// much memory it holds, what its flags do, and that being killed harms nothing. They look at the state of both servers
// and count requests from their audit logs. How long things take is the benchmark's business: deadlines here only tell
// "it happens" from "it does not".
//
// Each test has a provider, and the servers, to itself: they do not run in parallel, and each removes all that is of
// our kinds.
package e2e
