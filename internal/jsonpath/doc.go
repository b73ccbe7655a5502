// Package jsonpath reads values by the paths of gjson, and changes texts by regular expressions, in the forms that
// PublishedResources have. It is pure.
//
// What can make a document larger than it is, is refused: modifiers, literals, and numbers too large for an index.
// Several values are set here and not by sjson, in one go, and only where gjson tells their places.
//
// A group of a regular expression is $1 as in Go or \1 as in older documents.
package jsonpath
