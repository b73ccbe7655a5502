// Package jsonpath reads values by the paths of gjson, and changes texts by regular expressions, in the forms that
// PublishedResources have.
//
// It is pure.
//
// # Decisions
//
// Paths are read by gjson itself. What can make a document larger than it is, is refused: modifiers and literals. A
// number that is too large for an index is a key, so that no list gets that long. Where several values are set, it is
// done here and not by sjson, in one go, and only where gjson tells their places: it does not behind | and a second #.
//
// A tenant decides how long texts are, so that a pattern is looked for in short ones only.
//
// A group of a regular expression is $1 as in Go or \1 as in older documents.
package jsonpath
