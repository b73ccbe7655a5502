package target

import "bytes"

// A jsonScan follows a stream of JSON objects without keeping it. It knows where each begins and ends, how long it is
// and how many values it has, which bounds the memory that its decoder will need, and whether it says what it is.
type jsonScan struct {
	foreign bool // there is something other than an object
	ended   bool // the last object has ended
	size    int64
	values  int64
	hasKind bool // it has a kind that is not empty
	hasAPI  bool // it has an apiVersion that is not empty

	depth   int
	text    bool   // within a string
	escaped bool   // after a backslash in it
	key     bool   // the next string of the object, or this one, is a key
	token   []byte // the start of a string of the object
	last    string // its last key
}

// longest is how much of a string is kept: more than the longest key that counts.
const longest = 16

// scan takes in the next bytes.
func (s *jsonScan) scan(p []byte) {
	s.size += int64(len(p))
	for len(p) > 0 && !s.foreign {
		switch {
		case s.text:
			p = s.inText(p)
		case s.depth == 0:
			p = s.between(p)
		default:
			p = s.inside(p)
		}
	}
}

// between takes in bytes between objects, and the start of one.
func (s *jsonScan) between(p []byte) []byte {
	p = bytes.TrimLeft(p, " \t\r\n")
	if len(p) == 0 {
		return nil
	}
	*s = jsonScan{foreign: p[0] != '{', depth: 1, size: int64(len(p)), values: 1, key: true, token: s.token[:0]}
	return p[1:]
}

// inside takes in bytes of an object up to the next string or its end.
func (s *jsonScan) inside(p []byte) []byte {
	for i, c := range p {
		switch c {
		case '"':
			s.text, s.token = true, s.token[:0]
			return p[i+1:]
		case '{', '[':
			s.depth++
			s.values++
		case '}', ']':
			s.depth--
			if s.depth == 0 {
				s.ended = true
				return p[i+1:]
			}
		case ',':
			s.values++
			s.key = s.key || s.depth == 1
		case ':':
			s.key = false
		}
	}
	return nil
}

// inText takes in bytes of a string up to its end, or up to what a backslash escapes.
func (s *jsonScan) inText(p []byte) []byte {
	if s.escaped {
		s.escaped = false
		s.keep(p[:1])
		return p[1:]
	}
	end := bytes.IndexByte(p, '"')
	if end < 0 {
		end = len(p)
	}
	if slash := bytes.IndexByte(p[:end], '\\'); slash >= 0 {
		s.keep(p[:slash])
		s.escaped = true
		return p[slash+1:]
	}
	s.keep(p[:end])
	if end == len(p) {
		return nil
	}
	s.text = false
	if s.depth == 1 {
		s.endText()
	}
	return p[end+1:]
}

// keep keeps the start of a string of the object itself.
func (s *jsonScan) keep(p []byte) {
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
		s.hasKind = len(s.token) > 0
	case s.last == "apiVersion":
		s.hasAPI = len(s.token) > 0
	}
}
