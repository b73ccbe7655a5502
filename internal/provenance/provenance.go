package provenance

import (
	"slices"
	"strings"
)

// A Source is who decides on a text.
type Source int

const (
	// Provider means that the service owner's rules and the servers decide.
	Provider Source = iota
	// Hash means that the consumer chooses among hashes, and so cannot aim at a given text.
	Hash
	// Consumer means that the consumer may choose any text.
	Consumer
)

// A Value is what is known of a text.
type Value struct {
	Source Source
	// Unique reports whether no other workspace can have the same text, whatever its consumer enters.
	Unique bool
	// Atomic reports whether a unique text has no dash in it that a consumer could have put there.
	Atomic bool
}

// Values of texts that rules are made of.
var (
	// Assigned is a text that a server has made for one workspace or object: the name of a logical cluster, a UID.
	Assigned = Value{Source: Provider, Unique: true, Atomic: true}
	// Entered is a text of the consumer.
	Entered = Value{Source: Consumer}
	// Fixed is a constant.
	Fixed = Value{Source: Provider}
)

// Hashed returns what is known of a hash of a text.
func Hashed(v Value) Value {
	if v.Source == Consumer {
		v.Source = Hash
	}
	v.Atomic = v.Unique
	return v
}

// A Part is a part of a text.
type Part struct {
	Value

	text     string
	constant bool
}

// Text returns a constant part.
func Text(s string) Part { return Part{Value: Fixed, text: s, constant: true} }

// Of returns a part that is known to be what a Value says.
func Of(v Value) Part { return Part{Value: v} }

// Join returns what is known of a text that parts make together.
func Join(parts ...Part) Value {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p.constant && p.text == "" })
	if len(parts) == 1 {
		return parts[0].Value
	}
	out, variable := Value{}, 0
	for _, p := range parts {
		out.Source = max(out.Source, p.Source)
		if !p.constant {
			variable++
			out.Unique = out.Unique || p.Unique
		}
	}
	if variable > 1 {
		first, last := func(s string) byte { return s[0] }, func(s string) byte { return s[len(s)-1] }
		if out.Unique = isAnchored(parts, first); !out.Unique {
			slices.Reverse(parts)
			out.Unique = isAnchored(parts, last)
		}
	}
	return out
}

// isAnchored reports whether the first part that is not constant is unique, and its end is where a constant says, whose
// edge is next to it.
func isAnchored(parts []Part, edge func(string) byte) bool {
	i := slices.IndexFunc(parts, func(p Part) bool { return !p.constant })
	if !parts[i].Unique || !parts[i].Atomic {
		return false
	}
	return i+1 == len(parts) || parts[i+1].constant && isDelimiter(edge(parts[i+1].text))
}

// isDelimiter reports whether a character is none of those that names of logical clusters are made of.
func isDelimiter(c byte) bool { return strings.IndexByte("-.:/", c) >= 0 }
