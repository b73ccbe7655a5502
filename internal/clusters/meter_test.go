package clusters

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

// randomValue returns a value of JSON, whose texts look like JSON themselves, and how many values a meter counts in it.
func randomValue(r *rand.Rand, depth int) (value any, counted int64) {
	kinds := 2
	if depth > 0 {
		kinds = 4
	}
	n := r.IntN(5)
	counted = 1 + int64(max(0, n-1))
	switch r.IntN(kinds) {
	case 0:
		return strings.Repeat(`{"a\":[,,`, n), 0
	case 1:
		return n, 0
	case 2:
		list := []any{}
		for range n {
			v, c := randomValue(r, depth-1)
			list, counted = append(list, v), counted+c
		}
		return list, counted
	}
	object := map[string]any{}
	for i := range n {
		v, c := randomValue(r, depth-1)
		object[strings.Repeat("k,", i+1)] = v
		counted += c
	}
	return object, counted
}

// TestMeterCountsValues shows that values are counted as JSON has them, whatever is in its texts and however it is cut.
func TestMeterCountsValues(t *testing.T) {
	r, none := rand.New(rand.NewPCG(1, 2)), newSieve(call{}, maxLevels, maxObject)
	for range 500 {
		value, counted := randomValue(r, 4)
		counted++
		event, err := json.Marshal(map[string]any{"object": value})
		if err != nil {
			t.Fatal(err)
		}
		cut := []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader}[r.IntN(3)]
		m := &meter{
			ReadCloser: io.NopCloser(cut(bytes.NewReader(event))), json: true, max: maxObject, skip: skipMost, sieve: none,
		}
		if got, err := io.ReadAll(m); err != nil || !bytes.Equal(got, event) || m.passed+m.values != counted {
			t.Fatalf("want %d values in %s, got %d, %v", counted, event, m.values, err)
		}
	}
}
