// Package related finds the objects that are related to a consumer's object by the rules of a PublishedResource, and
// decides whether the consumer may name them. It reads no server: what a selector selects is given to it.
//
// # Who may name a place on the service cluster
//
// The first of these rules that says something decides:
//
//  1. Namespaces of the system and of states are closed, unless the copy itself is there. So is a namespace with
//     nothing but copies of other workspaces, if a value of the consumer leads there.
//  2. A constant is the owner's word: it is open. So are objects that labels select which are constants.
//  3. A name or namespace that begins with the name of the logical cluster, behind nothing but a constant, is the
//     workspace's own, and so is the default namespace, that of the copy, if naming makes that so.
//  4. What the copy owns is open. What has been copied before is, too, which the caller knows.
//  5. consumerMayName opens namespaces and names.
//  6. All else is refused.
//
// # Decisions
//
// Rules 2 and 3 know shapes of rules, and nothing of what templates, mutation or regular expressions make of values. We
// rejected to follow values through them, as that is a language of its own in which a mistake costs a Secret.
//
// Labels and annotations are no evidence: anybody who may write an object has written them. A UID in a name is none
// either, and the path of a workspace can be that of another one later. A hash of a consumer's name alone says nothing:
// another workspace has the same one.
package related
