package gotemplate

import (
	"regexp"
	"strings"

	"github.com/pkg/errors"
)

// Causes of errors.
var (
	// ErrInvalid means that a text is no template.
	ErrInvalid = errors.New("template is invalid")
	// ErrFailed means that a template yields nothing for these data.
	ErrFailed = errors.New("template fails")
	// ErrTooCostly means that a template was stopped at its limit.
	ErrTooCostly = errors.New("template is too costly")
)

// errTooMuch is what stops a template.
var errTooMuch = errors.New("limit reached")

// failure is one of the causes above, and what is to be said about it.
type failure struct {
	cause  error
	detail string
}

// Error tells nothing of the data.
func (f failure) Error() string { return f.cause.Error() + ": " + f.detail }

// Unwrap returns the cause.
func (f failure) Unwrap() error { return f.cause }

var (
	// place is the beginning of an error of text/template: where in which template, and the part of the template that
	// failed.
	place = regexp.MustCompile(`(?s)^template: :(\d+:\d+): executing "[^"]*" at <(.*?)>: (.*)$`)
	// harmless are the errors that tell types and names of the template, and no value.
	harmless = regexp.MustCompile(`^(wrong type for value; expected [\w.{} ]+; got [\w.*\[\]{} ]+|` +
		`wrong number of args for \w+: want [a-z0-9 ]+ got \d+|` +
		`can't evaluate field \w+ in type [\w.*\[\]{} ]+|range can't iterate over)`)
	// called is the name of a function that failed.
	called = regexp.MustCompile(`^error calling \w+`)
)

// explain says where a template fails, without the values it failed on.
func explain(err error) error {
	if errors.Is(err, errTooMuch) {
		return failure{ErrTooCostly, "it was stopped at its limit"}
	}
	parts := place.FindStringSubmatch(err.Error())
	if parts == nil {
		return failure{ErrFailed, "it cannot be executed"}
	}
	what := harmless.FindString(parts[3])
	if what == "" {
		what = called.FindString(parts[3])
	}
	return failure{ErrFailed, strings.TrimSuffix("at "+parts[1]+" <"+parts[2]+">: "+what, ": ")}
}
