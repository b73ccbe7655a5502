package readiness

import (
	"github.com/pkg/errors"
)

// Causes of the errors of queries.
var (
	// ErrInvalidQuery means that a query is not CEL, or can never give a bool.
	ErrInvalidQuery = errors.New("CEL query is invalid")
	// ErrNotBool means that a query has given something else than a bool.
	ErrNotBool = errors.New("CEL query does not give a bool")
	// ErrQueryFailed means that a query has no answer for this resource.
	ErrQueryFailed = errors.New("CEL query fails")
	// ErrTooCostly means that a query was stopped at the limit of cost.
	ErrTooCostly = errors.New("CEL query is too costly")
)

// queryError is one of the causes above, and what is to be said about it.
type queryError struct {
	cause  error
	detail string
}

// Error tells no value of a resource.
func (e queryError) Error() string { return e.cause.Error() + ": " + e.detail }

// Unwrap returns the cause.
func (e queryError) Unwrap() error { return e.cause }
