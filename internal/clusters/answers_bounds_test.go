package clusters

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestBombInWatch shows that one event of a watch is bounded, even with line breaks in it, and that their number is
// not.
func TestBombInWatch(t *testing.T) {
	const event = `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c"},` +
		`"data":{"a":"%s"}}}` + "\n"
	many := 3 * maxObject >> 20
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for range many {
			_, _ = fmt.Fprintf(w, event, strings.Repeat("a", 1<<20))
		}
		_, _ = io.WriteString(w, `{"type":"ADDED","object":`)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat(" \n", 1<<19)); err != nil {
				return
			}
		}
	})
	w, err := c.Resource(configMaps, "n").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	got := 0
	timeout := time.After(deadline)
	for {
		select {
		case e, ok := <-w.ResultChan():
			if ok && e.Object.GetObjectKind().GroupVersionKind().Kind == "ConfigMap" {
				got++
				continue
			}
			if got != many {
				t.Errorf("events of usual size arrive: want %d, got %d", many, got)
			}
			return
		case <-timeout:
			t.Fatal("gave up waiting for the watch to end")
		}
	}
}
