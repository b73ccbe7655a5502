package publication

import (
	"net/http"
	"strings"
	"testing"
)

// TestRestoredWhileFilling shows that a restore of kcp is not forgotten of objects whose copies a new spec does not see
// yet: what kcp has lost of them was undone, and nobody has deleted it.
func TestRestoredWhileFilling(t *testing.T) {
	s, fills := &server{copies: []any{copyOfWebIn("c")}}, make(chan struct{})
	last, _ := newThings(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/apis/example.org/v1/things") {
			<-fills
		}
		s.ServeHTTP(w, r)
	}), "c")
	last.worker.objects.add(web("c"))
	p, err := newPublication("things", last.worker.config, last, func() {})
	if err != nil {
		t.Fatal(err)
	}
	p.open()
	defer p.stop()
	p.worker.objects.restores.Add(1)
	close(fills)
	p.worker.await(p.ctx)
	if !p.worker.objects.mayBeUndone(web("c")) {
		t.Error("want it known that its copy may be of an object that was undone")
	}
}
