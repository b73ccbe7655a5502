package kube

import "testing"

// A Step is a part of a test that needs the parts before it.
type Step struct {
	Name string
	Run  func(*testing.T)
}

// RunSteps runs steps in order, as subtests, and ends with the first that fails.
func RunSteps(t *testing.T, steps []Step) {
	t.Helper()
	for _, s := range steps {
		if !t.Run(s.Name, s.Run) {
			return
		}
	}
}
