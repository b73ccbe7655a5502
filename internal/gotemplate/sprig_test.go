package gotemplate

import (
	"strings"
	"testing"

	"github.com/Masterminds/sprig/v3"
)

// TestAllowedExist shows that sprig has each function that is allowed, and that those which it counts as not repeatable
// are not.
func TestAllowedExist(t *testing.T) {
	all, hermetic := sprig.TxtFuncMap(), sprig.HermeticTxtFuncMap()
	for name := range strings.FieldsSeq(allowed) {
		if all[name] == nil {
			t.Errorf("function %s: want it in sprig, got none", name)
		}
		if hermetic[name] == nil {
			t.Errorf("function %s: want a repeatable one, got one that sprig leaves out of those", name)
		}
	}
}
