// Package related finds the objects that are related to a consumer's object by the rules of a PublishedResource, and
// decides whether the consumer may name them. It reads no server: what a selector selects is given to it.
//
// docs/reference/publishedresource.md has the table of who may name what. Its rules know shapes of rules, and nothing
// of what templates, mutation or regular expressions make of values: to follow values through them is a language of its
// own in which a mistake costs a Secret. Labels, annotations, a UID in a name, the path of a workspace and a hash of a
// consumer's name are no evidence: anybody can have the same.
package related
