// Package provenance tells who decides on a text that a rule of the service owner makes: the rule alone, or values of
// the consumer.
//
// It reads the rules and not their results. It is pure, and knows nothing of the objects that rules are applied to.
//
// # Decisions
//
// What it does not understand counts as the consumer's: loops, variables and most functions. A rule is refused rather
// than guessed at. Rejected was to apply a rule to other values and to compare the results, as a rule may treat the
// other values alike.
//
// A text is unique if it has a unique part, such as the name of the logical cluster, at a place that no value of a
// consumer can move: at its beginning or end, or between constants. To look for that name anywhere in the text was
// rejected, as a consumer can enter any name.
package provenance
