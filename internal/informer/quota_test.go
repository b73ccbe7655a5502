package informer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// sized returns a resource with a text of so many bytes.
func sized(name string, bytes int) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"a": strings.Repeat("a", bytes)}}}
	u.SetName(name)
	return u
}

// TestQuota shows for what there is room: what replaces something counts in its place, what is gone does not count, and
// two streams share a budget.
func TestQuota(t *testing.T) {
	const room, large = 1 << 20, 400 << 10
	b := newBudget(room)
	one, other := b.newQuota(), b.newQuota()
	var got []string
	try := func(what string, has bool) { got = append(got, fmt.Sprintf("%s %t", what, has)) }
	try("first", one.add(sized("a", large)))
	try("second", other.add(sized("b", large)))
	try("third", one.add(sized("c", large)))
	try("changed", one.add(sized("a", large+10)))
	other.remove(sized("b", 0))
	try("in place of the second", one.add(sized("c", large)))
	try("too large a list", other.replace([]any{sized("d", large)}))
	try("shorter list", one.replace([]any{sized("c", large)}))
	try("a list", other.replace([]any{sized("d", large)}))
	try("a name", other.add(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "n"}}))
	one.release()
	try("all", other.replace([]any{sized("d", large), sized("e", large)}))
	other.release()
	want := []string{
		"first true", "second true", "third false", "changed true", "in place of the second true",
		"too large a list false", "shorter list true", "a list true", "a name true", "all true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if left := b.used.Load(); left != 0 {
		t.Errorf("after all are released: want nothing in use, got %d bytes", left)
	}
	if q := newBudget(0).newQuota(); q != nil {
		t.Error("without a bound nothing is counted")
	}
}
