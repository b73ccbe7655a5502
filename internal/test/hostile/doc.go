// Package hostile gives tests an API server that harms its clients. It is for _test.go files only.
//
// A Server stands in front of a real API server. It passes requests on, until it is told to be faulty:
//
//	s := hostile.NewServer(t, target.Config(), hostile.Options{Canary: "canary-of-this-server"})
//	s.Set(hostile.Find(t, "StallBody"), hostile.Get, hostile.Patch)
//	...
//	s.Heal()
//
// A Mode is one kind of fault, a Verb is one kind of request. A mode of a connection replaces all answers, any other
// mode those to the verbs it is set for. What a Server invents holds its canary: tests look for the canary where
// nothing of a foreign answer may appear. A Sink records who follows a redirect.
//
// # Decisions
//
// Faults end when their mode does. A server that recovers has been restarted as a rule, so requests that wait are cut
// off. A client that gives up waiting does not need that, and tests of it must not heal the server first.
//
// Bombs have a fuse. An answer stops at 256 MiB, so that a client without a limit fails its test and does
// not take the machine down.
//
// A watch that asks for initial events counts as a list. client-go lists this way, and real servers answer it first of
// all.
package hostile
