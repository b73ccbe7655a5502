package apply

// A hiddenError says of an answer only what is not private. Its reason and what else is known of it can still be found.
type hiddenError struct {
	text  string
	cause error
}

// Error returns the text without what is private.
func (e hiddenError) Error() string { return e.text }

// Unwrap returns the whole answer, which must not be shown.
func (e hiddenError) Unwrap() error { return e.cause }

// HideSecret returns an error whose text repeats nothing of a Secret, and whose cause is the answer to a write of that.
// content is what was sent, nil if that is not known: then no field is named either.
func HideSecret(err error, content map[string]any) error {
	if err == nil {
		return nil
	}
	p := Private{Secret: true, Values: []any{content["data"], content["stringData"]}}
	if content == nil {
		p.Fields = []string{""} // All fields are in this one, which has no name.
	}
	return hiddenError{text: p.clean(err).Error(), cause: err}
}
