// Package gotemplate renders Go templates that service owners write over objects that tenants write.
//
// It is pure: what a template yields follows from the template and the data alone.
//
// # Decisions
//
// A template knows the functions of sprig that are repeatable, and a few for hashes. What reads the environment, the
// clock, the network or chance is missing, and so is what makes keys and certificates: a name that comes out
// differently each time is none. The functions are listed by name; we rejected a list of those to leave out, because a
// later version of sprig would add to what tenants can call. The lists that sprig makes of a map are sorted here.
//
// Data are shared with caches. A template that uses a function which changes a map gets a copy of them.
//
// A tenant decides how large the data are, and so how long a template runs. Each turn of a loop and each function has a
// cost, which grows with what a function is about to make, and a template that has used up its budget stops with
// ErrTooCostly. A deadline was rejected: it depends on the machine, and cannot stop a function that is making a large
// text. A template calls no other, which could call itself: to stop one that is deep down takes longer than to run
// it. A regular expression costs what its program and the text may take; keys of maps are texts, as nothing tells
// how large other values become as such.
//
// A function that takes a text takes a missing value for an empty one, and whatever writes itself as text for that
// text.
//
// Data may be secret, and functions quote them in their errors, so errors are made of phrases of our own and quote the
// template only.
package gotemplate
