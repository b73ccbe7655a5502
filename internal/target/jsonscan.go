package target

import "bytes"

// A jsonScan follows a stream of JSON objects without keeping it. It knows where each begins and ends, how long it is and how many
// values it has, which bounds the memory that its decoder will need, and whether it says what it is.
type jsonScan struct {
	foreign bool // there is something other than an object
	ended   bool // the last object has ended
	size    int64
	values  int64
	hasKind bool // it has a kind that is not empty
	hasAPI  bool // it has an apiVersion that is not empty

	depth   int
	text    bool // within a string
	escaped bool // after a backslash in it
	key     bool // the next string of the object, or this one, is a key
	length  int64
	token   []byte // the start of a string of the object
	last    string // its last key
}

// longest is how much of a string is kept: more than the longest key that counts.
const longest = 16

// scan takes in the next bytes.
func (s *jsonScan) scan(p []byte) {
	for i := 0; i < len(p) && !s.foreign; {
		if s.text {
			i += s.inText(p[i:])
			continue
		}
		s.size++
		s.next(p[i])
		i++
	}
}

// inText takes in bytes of a string, and returns how many.
func (s *jsonScan) inText(p []byte) int {
	if s.escaped {
		s.escaped = false
		s.keep(p[:1])
		return 1
	}
	n := bytes.IndexAny(p, `"\`)
	if n < 0 {
		s.keep(p)
		return len(p)
	}
	s.keep(p[:n])
	s.size++
	if p[n] == '\\' {
		s.escaped = true
		return n + 1
	}
	s.text = false
	if s.depth == 1 {
		s.endText()
	}
	return n + 1
}

func (s *jsonScan) keep(p []byte) {
	s.size += int64(len(p))
	s.length += int64(len(p))
	if s.depth == 1 && len(s.token) < longest {
		s.token = append(s.token, p[:min(len(p), longest-len(s.token))]...)
	}
}

// endText takes in the end of a string that is a key of the object, or the value of one.
func (s *jsonScan) endText() {
	switch {
	case s.key:
		s.last = string(s.token)
	case s.last == "kind":
		s.hasKind = s.length > 0
	case s.last == "apiVersion":
		s.hasAPI = s.length > 0
	}
}

// next takes in a byte outside of strings.
func (s *jsonScan) next(c byte) {
	if s.depth == 0 {
		s.between(c)
		return
	}
	switch c {
	case '"':
		s.text, s.length, s.token = true, 0, s.token[:0]
	case '{', '[':
		s.depth++
		s.values++
	case '}', ']':
		s.depth--
		s.ended = s.depth == 0
	case ',':
		s.values++
		s.key = s.key || s.depth == 1
	case ':':
		if s.depth == 1 {
			s.key = false
		}
	}
}

// between takes in a byte between objects.
func (s *jsonScan) between(c byte) {
	switch c {
	case ' ', '\t', '\r', '\n':
	case '{':
		*s = jsonScan{depth: 1, size: 1, values: 1, key: true, token: s.token[:0]}
	default:
		s.foreign = true
	}
}
