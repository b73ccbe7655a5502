package readiness

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

// password is a value that no message may tell.
const password = "hunter2"

// queried is the resource of these tests.
func queried() map[string]any {
	return map[string]any{
		"data": map[string]any{"password": password, "five": "5"},
		"spec": map[string]any{"replicas": int64(3), "ratio": 1.5},
		"status": map[string]any{
			"ready": true, "replicas": int64(3), "phase": "Running",
			"conditions": []any{
				map[string]any{"type": "Available", "status": "True"},
				map[string]any{"type": "Progressing", "status": "False"},
			},
		},
	}
}

func TestQuery(t *testing.T) {
	type want struct {
		answer bool
		err    string // how it begins
	}
	for name, tc := range map[string]struct {
		reason string
		query  string
		want   want
	}{
		// In provider-kubernetes a plain field of type bool never counts, and what is no bool is not reported.
		"DynamicBool": {
			reason: "A field is not known to be a bool before it is read; it counts if it is.",
			query:  "object.status.ready",
			want:   want{answer: true},
		},
		"DynamicNoBool": {
			reason: "What is no bool is reported.",
			query:  "object.status.phase",
			want:   want{err: "CEL query does not return a bool: it returns a value of type string"},
		},
		"StaticNoBool": {
			reason: "What can be no bool is reported.",
			query:  "'yes'",
			want: want{
				err: "CEL query is invalid: it returns a value of type string and not of type bool",
			},
		},
		"MixedNumbers": {
			reason: "Whole and other numbers are compared.",
			query:  "object.spec.ratio < 2 && object.spec.replicas == 3.0",
			want:   want{answer: true},
		},
		"Macros": {
			reason: "Lists are searched.",
			query:  "object.status.conditions.exists(c, c.type == 'Available' && c.status == 'True')",
			want:   want{answer: true},
		},
		"Optional": {
			reason: "A field that is not there can have a default.",
			query:  "object.?status.?unknown.orValue(true)",
			want:   want{answer: true},
		},
		"Strings": {
			reason: "There are functions for strings.",
			query: "object.status.phase.lowerAscii().substring(0, 3) == 'run' && " +
				"'%s-%d'.format(['a', 1]).split('-').size() == 2",
			want: want{answer: true},
		},
		"Lists": {
			reason: "There are functions for lists.",
			query:  "[[3, 1], [2]].flatten().sort().reverse() == [3, 2, 1] && [1, 1].distinct() == [1]",
			want:   want{answer: true},
		},
		"Sets": {
			reason: "There are functions for sets.",
			query:  "sets.contains(object.status.conditions.map(c, c.type), ['Available'])",
			want:   want{answer: true},
		},
		"Math": {
			reason: "There are functions for numbers.",
			query:  "math.greatest(object.spec.replicas, 2) == 3",
			want:   want{answer: true},
		},
		"Encoders": {reason: "There are encodings.", query: "base64.encode(b'a') == 'YQ=='", want: want{answer: true}},
		"Regex": {
			reason: "There are regular expressions.",
			query:  "object.status.phase.matches('^Run') && regex.replace('a1', '[0-9]', 'b') == 'ab'",
			want:   want{answer: true},
		},
		"Empty": {reason: "There must be a query.", query: "", want: want{err: "CEL query is invalid: "}},
		"Syntax": {
			reason: "What is not CEL is reported, with its place.",
			query:  "object.status.ready == )",
			want:   want{err: "CEL query is invalid: "},
		},
		"UnknownVariable": {
			reason: "There is one variable.",
			query:  "resource.status.ready",
			want: want{
				err: "CEL query is invalid: 1:1: undeclared reference to 'resource'",
			},
		},
		"TooLong": {
			reason: "A query has a highest length.",
			query:  strings.Repeat(" ", 10_000) + "true",
			want:   want{err: "CEL query is invalid: "},
		},
		"TooDeep": {
			reason: "A query has a highest depth.",
			query:  strings.Repeat("(", 100) + "true" + strings.Repeat(")", 100),
			want:   want{err: "CEL query is invalid: "},
		},
		"NoSuchKey": {
			reason: "A field that is not there is named if the query names it.",
			query:  "object.status.unknown == 1",
			want:   want{err: "CEL query fails: at 1:14: no such key: unknown"},
		},
		"TooCostly": {
			reason: "A query that runs away is stopped.",
			query:  "lists.range(1000).all(a, lists.range(1000).all(b, a < b || a >= b))",
			want: want{
				err: "CEL query is too costly: the expression exceeds the cost limit of 100000",
			},
		},
		"TooLongRange": {
			reason: "A list is not made longer than can be paid for.",
			query:  "lists.range(1000000000).size() > 0",
			want:   want{err: "CEL query fails: "},
		},
		"SecretAsKey": {
			reason: "A key that comes from the resource is not told.",
			query:  "object.data[object.data.password] == 1",
			want:   want{err: "CEL query fails: at 1:12: no such key"},
		},
		"SecretAsIndex": {
			reason: "Nor is a part of a word of the query that is the same by chance.",
			query:  "object.status.conditions[int(object.data.five)].x5x",
			want:   want{err: "CEL query fails: at 1:48: index out of bounds"},
		},
		"SecretAsNumber": {
			reason: "Nor is what is no number.",
			query:  "int(object.data.password) == 1",
			want:   want{err: "CEL query fails: "},
		},
		"SecretAsTime": {
			reason: "Nor is what is no time.",
			query:  "timestamp(object.data.password) < timestamp(0)",
			want:   want{err: "CEL query fails: "},
		},
		"SecretAsDuration": {
			reason: "Nor is what is no duration.",
			query:  "duration(object.data.password) < duration('1s')",
			want:   want{err: "CEL query fails: "},
		},
		"SecretAsPattern": {
			reason: "Nor is what is no pattern.",
			query:  "'a'.matches('(' + object.data.password)",
			want:   want{err: "CEL query fails: "},
		},
		"SecretAsFormat": {
			reason: "Nor is what is no format.",
			query:  "('%' + object.data.password).format([1]) == ''",
			want:   want{err: "CEL query fails: "},
		},
		"SecretAsNoBool": {
			reason: "Nor is what is no bool.",
			query:  "object.data.password",
			want:   want{err: "CEL query does not return a bool: "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := queried()
			got, err := Query(tc.query, object)
			if (err != nil) != (tc.want.err != "") || err != nil && !strings.HasPrefix(err.Error(), tc.want.err) {
				t.Fatalf("%s\nerror: want %q, got %v", tc.reason, tc.want.err, err)
			}
			if got != tc.want.answer {
				t.Errorf("%s\nanswer: want %t, got %t", tc.reason, tc.want.answer, got)
			}
			if err != nil && strings.Contains(err.Error(), password) {
				t.Errorf("%s\nmessage tells a value of the resource: %q", tc.reason, err.Error())
			}
			if diff := cmp.Diff(queried(), object); diff != "" {
				t.Errorf("%s\nthe resource belongs to the watch: -before, +after:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestProgramsAreKept shows that a query is compiled once, and that however many there are, few are kept.
func TestProgramsAreKept(t *testing.T) {
	if first := compiled("object.a == 'kept'"); compiled("object.a == 'kept'") != first {
		t.Error("a query is compiled again")
	}
	if first := compiled("object.a =="); compiled("object.a ==") != first {
		t.Error("an invalid query is compiled again")
	}
	for i := range 2 * programsMax {
		compiled(fmt.Sprintf("object.a == %d", i))
	}
	if n := programs.Len(); n > programsMax {
		t.Errorf("programs kept: want at most %d, got %d", programsMax, n)
	}
}

// FuzzQuery looks for queries that break out: by a panic, without an end, with a changed resource, or with an error
// that is none of ours or tells a value.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{
		"object.status.ready", "object.status.conditions.exists(c, c.type == 'Available' && c.status == 'True')",
		"object.status.conditions.all(c, c.status == \"True\")", "has(object.status.x) && object.status.x",
		"object.?a.?b.orValue(true)",
		"object.data[object.data.password] == 1", "int(object.data.password) == 1", "'%s'.format([object.data])",
		"lists.range(10).map(x, x * x).sum() > 3",
		"object.status.phase.split('').join(',').replace('n', 'm').matches('[a-z,]*')",
		"sets.contains([1, 2], [object.spec.replicas])",
		"math.least([1.0, 2u, 3]) == 1", "base64.decode(object.data.password) == b'\\x00'",
		"regex.extractAll('a', object.data.password).size() > 0",
		"timestamp('2020-01-01T00:00:00Z').getFullYear() > 1999", "[1, [2, [3]]].flatten(5).slice(0, 2)", "{'a': 1}.b",
		"object[0]", "-object", "\"\xff\"", "((((", "a.b.c ? x : y",
		"object.status.conditions.sortBy(c, c.type)[0].status == 'True'",
		"duration('1h') + duration(object.data.password) > duration('0s')",
	} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		object := queried()
		before := runtime.DeepCopyJSON(object)
		ok, err := Query(query, object)
		if err != nil && ok {
			t.Errorf("%q is true in spite of %v", query, err)
		}
		if diff := cmp.Diff(before, object); diff != "" {
			t.Errorf("%q has changed the resource:\n%s", query, diff)
		}
		if err == nil {
			return
		}
		if !strings.HasPrefix(err.Error(), "CEL query ") {
			t.Errorf("%q gives an error of another kind: %v", query, err)
		}
		if strings.Contains(err.Error(), password) && !strings.Contains(query, password) {
			t.Errorf("%q tells a value of the resource: %v", query, err)
		}
		if strings.ContainsAny(err.Error(), "\n\r") {
			t.Errorf("%q gives an error of several lines: %q", query, err)
		}
	})
}
