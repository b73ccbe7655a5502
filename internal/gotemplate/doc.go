// Package gotemplate renders Go templates that service owners write over objects that tenants write. It is pure.
//
// A template knows the functions of sprig that are repeatable, listed by name: a later version of sprig would add to
// what tenants can call.
//
// A tenant decides how large the data are, and so how long a template runs. So there are limits of output, of turns of
// loops, and of what one call of a function makes of little. A deadline depends on the machine, and cannot stop a
// function that is making a large text.
//
// Data may be secret, and functions quote them in their errors, so errors quote the template only.
package gotemplate
