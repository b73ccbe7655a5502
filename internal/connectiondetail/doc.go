// Package connectiondetail takes connection details from resources: values by field path, as the bytes that a Secret
// holds.
//
// # Decisions
//
// A text is taken as it is, a number or a boolean as JSON writes it, a list or a map as JSON. The syntax of Go, which
// provider-kubernetes gives lists and maps, was rejected: nothing but Go can read it.
//
// The values of a Secret are decoded, so that what arrives is what the Secret means. The whole of its data is a JSON
// object of decoded texts. A value that is no text has no place in JSON, and is refused there rather than changed; it
// can be taken by itself.
//
// Errors name fields and never quote values.
package connectiondetail
