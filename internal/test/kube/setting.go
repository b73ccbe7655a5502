package kube

import (
	"os"
	"strconv"
	"testing"
)

// Setting returns a number from the environment by which a test does more than it usually does, or what it usually
// does.
func Setting(tb testing.TB, variable string, usual int) int {
	tb.Helper()
	value := os.Getenv(variable)
	if value == "" {
		return usual
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		tb.Fatalf("cannot read variable %s: %v", variable, err)
	}
	return n
}
