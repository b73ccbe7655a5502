package clusters

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/provider-kcp/internal/informer"
)

// nested returns JSON of so many levels.
func nested(levels int) string {
	return strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
}

// spoiled are resources that cannot be read, by what is wrong with them, in the orders in which servers tell members.
var spoiled = map[string]string{
	"nests deeper than 100 levels": `{"apiVersion":"v1","data":` + nested(10001) +
		`,"kind":"Thing","metadata":{"name":"x"}}`,
	"nests deeper than 100 levels, its managed fields": `{"kind":"Thing","apiVersion":"v1","metadata":{"managedFields":[` +
		nested(100) + `],"name":"x","ownerReferences":[]}}`,
	"longer than 1 MiB": `{"kind":"Thing","apiVersion":"v1","metadata":{"name":"x"},"data":{"a\"metadata\"":"` +
		strings.Repeat(`\u003c`, 200000) + `"}}`,
	"longer than 1 MiB as JSON": `{"apiVersion":"v1","data":{"metadata":"` + strings.Repeat("x", 1<<20) +
		`"},"kind":"Thing","metadata":{"name":"x"},"status":{}}`,
	"more than 104857 values": `{"kind":"Thing","apiVersion":"v1","metadata":{"name":"x"},"data":[` +
		strings.Repeat("[],", 60000) + "[]]}",
}

// TestSieve shows that what is beyond the bounds passes as its metadata, named and with the reason, and all else as it
// is: in a list, in a watch and alone, however it is cut.
func TestSieve(t *testing.T) {
	const good = `{"kind":"Thing","apiVersion":"v1","metadata":{"name":"good","annotations":{"items":"[{\"object\":{"}},` +
		`"items":[{"object":1}],"object":{"items":[{}]}}`
	around := map[string]struct {
		call   call
		format string // of two resources
		each   func(*testing.T, []byte) []string
	}{
		"List": {
			call{resource: true, list: true},
			`{"kind":"ThingList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[%s, %s]}`, ofList,
		},
		"Watch": {
			call{resource: true, watch: true},
			`{"type":"ADDED","object":%s}` + "\n" + `{"object":%s,"type":"DELETED"}`, ofWatch,
		},
	}
	for what, bad := range spoiled {
		why, _, _ := strings.Cut(what, ",")
		for name, tc := range around {
			for cut, reader := range map[string]func(io.Reader) io.Reader{
				"OneByte": iotest.OneByteReader, "Half": iotest.HalfReader, "Whole": iotest.DataErrReader,
			} {
				t.Run(name+"/"+why+"/"+cut, func(t *testing.T) {
					m := &meter{
						ReadCloser: io.NopCloser(reader(strings.NewReader(fmt.Sprintf(tc.format, good, bad)))),
						sieve:      newSieve(tc.call, 100, 1<<20), json: true, watch: tc.call.watch, max: 1 << 20, skip: skipMost,
					}
					got, err := io.ReadAll(m)
					if err != nil {
						t.Fatal(err)
					}
					all := tc.each(t, got)
					if len(all) != 2 || all[0] != good {
						t.Fatalf("want two resources, the first as it is, got %.500s", all)
					}
					left := &unstructured.Unstructured{}
					if err := json.Unmarshal([]byte(all[1]), &left.Object); err != nil {
						t.Fatal(err)
					}
					is := informer.Unreadable(left)
					if is == nil || !strings.Contains(is.Error(), why) || !strings.Contains(is.Error(), `Thing "x"`) {
						t.Errorf("want why Thing x cannot be read, got %v", is)
					}
					left.SetAnnotations(nil)
					left.SetOwnerReferences(nil)
					want := map[string]any{
						"kind": "Thing", "apiVersion": "v1", "metadata": map[string]any{"name": "x"},
					}
					if diff := cmp.Diff(want, left.Object); diff != "" {
						t.Errorf("what is left: -want, +got:\n%s", diff)
					}
				})
			}
		}
	}
}

func ofList(t *testing.T, content []byte) (all []string) {
	t.Helper()
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(content, &list); err != nil {
		t.Fatal(err)
	}
	for _, i := range list.Items {
		all = append(all, string(i))
	}
	return all
}

func ofWatch(t *testing.T, content []byte) (all []string) {
	t.Helper()
	for d := json.NewDecoder(bytes.NewReader(content)); d.More(); {
		var e metav1.WatchEvent
		if err := d.Decode(&e); err != nil {
			t.Fatal(err)
		}
		all = append(all, string(e.Object.Raw))
	}
	return all
}

// FuzzSieve shows that what is within bounds passes as it is, whatever it is and however it is cut, and that what is
// not passes as JSON.
func FuzzSieve(f *testing.F) {
	for _, kind := range []uint8{0, 1, 2, 3} {
		for _, s := range []string{
			`{"items":[{"metadata":{"name":"a"},"b":[[[[1]]]]},{}]}`, `{"type":"ADDED","object":{"a":"\"}{"}}`, "}{", `"\`,
			`{"object":{"metadata":{"annotations":null,"labels":{}}}}{"object":[{"object":{}}]}`, `{"items":{"items":{}}}`,
		} {
			f.Add([]byte(s), kind, 4, 1)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte, kind uint8, levels, cut int) {
		c := []call{{}, {resource: true}, {resource: true, watch: true}, {resource: true, list: true}}[kind%4]
		pass := func(levels, cut int) ([]byte, error) {
			s, rest := newSieve(c, levels, 1<<20), content
			for len(rest) > 0 {
				n := min(max(cut, 1), len(rest))
				if _, err := s.sift(rest[:n]); err != nil {
					return nil, err
				}
				rest = rest[n:]
			}
			if s.within {
				s.out.Write(s.item) // A body that ends within a resource.
			}
			return s.out.Bytes(), nil
		}
		if got, err := pass(1<<20, cut); err != nil || !bytes.Equal(got, content) {
			t.Errorf("what is within bounds passes as it is: want %q, got %q, %v", content, got, err)
		}
		got, err := pass(levels, cut)
		if whole, werr := pass(levels, len(content)); !bytes.Equal(got, whole) || (err == nil) != (werr == nil) {
			t.Errorf("cuts do not matter: want %q, %v, got %q, %v", whole, werr, got, err)
		}
		if json.Valid(content) && (err != nil || !json.Valid(got)) {
			t.Errorf("JSON stays JSON: got %q, %v", got, err)
		}
	})
}
