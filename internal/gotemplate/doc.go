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
// A tenant decides how large the data are, and so how long a template runs. What a rendering writes has a limit, and so
// have the turns of its loops and what one call of a function makes of little: a template that reaches one stops with
// ErrTooCostly. A deadline was rejected: it depends on the machine, and cannot stop a function that is making a large
// text. What a template does to itself, such as a map that it puts into itself, is its author's.
//
// Data may be secret, and functions quote them in their errors, so errors are made of phrases of our own and quote the
// template only.
package gotemplate
