package expression

import (
	"github.com/pkg/errors"
)

// Causes of the errors of expressions.
var (
	// ErrInvalid means that a text is not CEL, or not of the type that is needed.
	ErrInvalid = errors.New("is invalid")
	// ErrFailed means that an expression gives nothing for these variables.
	ErrFailed = errors.New("fails")
	// ErrTooCostly means that an expression was stopped at the limit of cost.
	ErrTooCostly = errors.New("is too costly")
	// ErrNoJSON means that an expression has given something that JSON cannot hold.
	ErrNoJSON = errors.New("does not give a JSON value")
)

// An Error is one of the causes above, and what is to be said about it.
type Error struct {
	What   string // what failed, to users: CEL query
	Cause  error
	Detail string
}

// Error tells no value of a resource.
func (f Error) Error() string { return f.What + " " + f.Cause.Error() + ": " + f.Detail }

// Unwrap returns the cause.
func (f Error) Unwrap() error { return f.Cause }
