package clusters

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pkg/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/internal/identity"
)

// bomb returns much JSON in few bytes: a value over and over, compressed.
func bomb(value string, size int) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c"},"a":`)
	part := []byte(strings.Repeat(value, 1<<20/len(value)))
	for n := 0; n < size; n += len(part) {
		_, _ = z.Write(part)
	}
	_ = z.Close()
	return b.Bytes()
}

// TestBombs shows that an answer is read up to the limit and no further, whatever it is compressed to.
func TestBombs(t *testing.T) {
	for name, content := range map[string][]byte{
		"LongString": bomb(`aaaaaaaaaaaaaaaa`, 200<<20),
		"ManyValues": bomb(`[{},{},{},{},{},`, 200<<20),
		"Whitespace": bomb("                ", 200<<20),
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write(content)
			})
			for verb, ask := range requests() {
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				err := ask(ctx, c)
				cancel()
				if err == nil || !strings.Contains(err.Error(), "server answers with more than") {
					t.Errorf("%s: the error says that the answer is too large: got %.300v", verb, err)
				}
			}
		})
	}
}

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

// TestStalls shows that a request whose answer stops at any point is given up with its context, and that all are once a
// probe is not answered either.
func TestStalls(t *testing.T) {
	for name, stall := range map[string]func(w http.ResponseWriter){
		"Headers": func(http.ResponseWriter) {},
		"Body": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"kind":"ConfigMap",`)
			_ = http.NewResponseController(w).Flush()
		},
		"Refusal": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"kind":"Status",`)
			_ = http.NewResponseController(w).Flush()
		},
	} {
		for verb, ask := range requests() {
			t.Run(name+verb, func(t *testing.T) {
				t.Parallel()
				dead := make(chan struct{})
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					// Until it is read, net/http does not notice that a client has gone.
					_, _ = io.Copy(io.Discard, r.Body)
					if r.URL.Path != "/version" {
						stall(w)
						<-r.Context().Done()
					}
					select {
					case <-dead:
						stall(w)
						<-r.Context().Done()
					default:
					}
				}))
				t.Cleanup(s.Close)
				c := clusterAt(t, s.URL, identity.WriterTenant, Addresses{})
				awaitUp(t, c)
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				if err := ask(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("it ends with its context: got %v", err)
				}
				close(dead)
				err := ask(t.Context(), c)
				late := strings.Contains(fmt.Sprint(err), errSlow.Error())
				if !IsUnreachable(err) || late && verb != "Discovery" && verb != "Find" { // These wait for 2 s only.
					t.Errorf("it ends with the target, and not with its own time: got %v", err)
				}
			})
		}
	}
}
