package objectsync

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// TestPrimaryString shows how an object is named for users: with its namespace if it has one.
func TestPrimaryString(t *testing.T) {
	for want, n := range map[string]types.NamespacedName{
		"web": {Name: "web"}, "default/web": {Namespace: "default", Name: "web"},
	} {
		if got := (Primary{NamespacedName: n, Cluster: "c"}).String(); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}
