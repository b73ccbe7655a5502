// Package jsonpath reads values by the paths of gjson, and changes texts by regular expressions, in the forms that PublishedResources have.
//
// It is pure.
//
// # Decisions
//
// Paths are read by gjson itself. What can make a document larger than it is, or a list of any length, is refused: modifiers, literals and
// large indexes.
//
// A group of a regular expression is $1 as in Go or \1 as in older documents.
package jsonpath
