package apply

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// ignoring returns the fields at paths.
func ignoring(t *testing.T, paths ...string) Ignored {
	t.Helper()
	all := Ignored{Label: "ours"}
	for _, p := range paths {
		all.Paths = append(all.Paths, strings.Split(p, "."))
	}
	return all
}

// shared returns a resource with fields that the manager and others own, all given as JSON.
func shared(t *testing.T, content, ours, theirs string) *unstructured.Unstructured {
	t.Helper()
	u := object(t, content)
	if u != nil {
		scale := entry("autoscaler", update, theirs)
		scale.Subresource = "scale"
		u.SetManagedFields([]metav1.ManagedFieldsEntry{entry(manager, applied, ours), scale})
	}
	return u
}

func TestPayload(t *testing.T) {
	const (
		manifest = `{"kind":"D","metadata":{"name":"web"},"spec":{"replicas":2,"paused":true}}`
		scaled   = `{"kind":"D","metadata":{"name":"web"},"spec":{"replicas":5,"paused":false}}`
		spec     = `{"f:spec":{"f:replicas":{},"f:paused":{}}}`
		replicas = `{"f:spec":{"f:replicas":{}}}`
		web      = `"k:{\"name\":\"web\"}":{".":{},"f:name":{},"f:cpu":{}}`
		ports    = `{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}`
	)
	for name, tc := range map[string]struct {
		reason             string
		paths              []string
		manifest           string
		live, ours, theirs string
		want               string
	}{
		"Creation": {
			reason: "What does not exist gets the manifest.",
			paths:  []string{"spec.replicas"}, manifest: manifest, want: manifest,
		},
		"Lacking": {
			reason: "A field that is gone heals.",
			paths:  []string{"spec.replicas"}, manifest: manifest, live: `{"spec":{"paused":true}}`, want: manifest,
		},
		"Others": {
			reason: "What another manager owns is left out, by a subresource too, and nothing else is.",
			paths:  []string{"spec.replicas"}, manifest: manifest, live: scaled, ours: spec, theirs: replicas,
			want: `{"kind":"D","metadata":{"name":"web"},"spec":{"paused":true}}`,
		},
		"Unowned": {
			reason: "Of what nobody else owns the live value is sent.",
			paths:  []string{"spec.replicas"}, manifest: manifest, live: scaled, ours: spec,
			want: `{"kind":"D","metadata":{"name":"web"},"spec":{"replicas":5,"paused":true}}`,
		},
		"Empty": {
			reason: "A map of which everything is left out is left out, and what identifies the resource never is.",
			paths:  []string{"spec", "*"}, manifest: manifest, live: scaled, theirs: `{"f:kind":{},` + spec[1:],
			want: `{"kind":"D","metadata":{"name":"web"}}`,
		},
		"NotGiven": {
			reason: "A path that the manifest does not give has no effect.",
			paths:  []string{"spec.more", "spec.replicas.more", "spec.0", "spec.replicas.*"}, manifest: manifest,
			live: scaled, theirs: spec, want: manifest,
		},
		"Label": {
			reason: "Labels of the author are left to others, and that of the provider is not.",
			paths:  []string{"metadata.labels"}, manifest: `{"metadata":{"labels":{"ours":"a","b":"b","c":"c"}}}`,
			live:   `{"metadata":{"labels":{"ours":"x","b":"x","c":"x"}}}`,
			theirs: `{"f:metadata":{"f:labels":{"f:ours":{},"f:b":{}}}}`,
			want:   `{"metadata":{"labels":{"ours":"a","c":"x"}}}`,
		},
		"KeyedList": {
			reason: "Items are found by their keys, and items that only others have are not sent.",
			paths:  []string{"l.*.cpu"}, manifest: `{"l":[{"name":"web","cpu":1,"v":1},{"name":"new","cpu":1}]}`,
			live: `{"l":[{"name":"side","cpu":7},{"name":"web","cpu":5,"v":9}]}`, theirs: `{"f:l":{` + web + `}}`,
			want: `{"l":[{"name":"web","v":1},{"name":"new","cpu":1}]}`,
		},
		"KeyedListUnowned": {
			reason: "The live value is that of the item of the same keys.",
			paths:  []string{"l.0.cpu"}, manifest: `{"l":[{"name":"web","cpu":1},{"name":"side","cpu":1}]}`,
			live: `{"l":[{"name":"side","cpu":7},{"name":"web","cpu":5}]}`, ours: `{"f:l":{` + web + `}}`,
			want: `{"l":[{"name":"web","cpu":5},{"name":"side","cpu":1}]}`,
		},
		"ItemInPart": {
			reason: "An item keeps its keys as long as something of it is sent.",
			paths:  []string{"l.0"}, manifest: `{"l":[{"name":"web","cpu":1,"v":1}]}`,
			live: `{"l":[{"name":"web","cpu":5,"v":9}]}`, theirs: `{"f:l":{` + web + `}}`,
			want: `{"l":[{"name":"web","v":9}]}`,
		},
		"ItemOfOthers": {
			reason: "An item of which nothing is sent is left out.",
			paths:  []string{"l.0"}, manifest: `{"l":[{"name":"web","cpu":1}],"x":1}`,
			live: `{"l":[{"name":"web","cpu":5}]}`, theirs: `{"f:l":{` + web + `}}`, want: `{"x":1}`,
		},
		"DefaultKey": {
			reason: "An item that leaves a key to a default is found.",
			paths:  []string{"ports.*.node"}, manifest: `{"ports":[{"port":80,"node":1}]}`,
			live: `{"ports":[{"port":80,"protocol":"TCP","node":5}]}`, ours: ports,
			want: `{"ports":[{"port":80,"node":5}]}`,
		},
		"Set": {
			reason: "The items of a set have owners of their own.",
			paths:  []string{"s.*"}, manifest: `{"s":["a","b","c"]}`, live: `{"s":["b","a"]}`,
			theirs: `{"f:s":{"v:\"a\"":{}}}`, want: `{"s":["b","c"]}`,
		},
		"Whole": {
			reason: "A list that is owned as a whole is one field.",
			paths:  []string{"args", "m"}, manifest: `{"args":["a"],"m":{"a":1}}`, live: `{"args":["x","y"],"m":{"b":2}}`,
			ours: `{"f:args":{}}`, theirs: `{"f:m":{}}`, want: `{"args":["x","y"]}`,
		},
		"IntoWhole": {
			reason:   "A path into it takes the live value at that place, whoever owns it.",
			paths:    []string{"args.1", "rules.*.host", "args.7", "m.a"},
			manifest: `{"args":["a","b","c"],"rules":[{"host":"a","port":1},{"host":"b"}],"m":{"a":1,"b":1}}`,
			live:     `{"args":["x","y"],"rules":[{"host":"x","port":9}],"m":{"a":5,"b":5}}`,
			theirs:   `{"f:args":{},"f:rules":{},"f:m":{}}`,
			want:     `{"args":["a","y","c"],"rules":[{"host":"x","port":1},{"host":"b"}],"m":{"a":5,"b":1}}`,
		},
		"EmptyOnTarget": {
			reason: "What is empty lacks all fields.",
			paths:  []string{"resources", "l"}, manifest: `{"resources":{"cpu":1},"l":[1]}`, live: `{"resources":{},"l":[]}`,
			theirs: `{"f:resources":{},"f:l":{}}`, want: `{"resources":{"cpu":1},"l":[1]}`,
		},
		"OtherType": {
			reason: "A value of another type is one field.",
			paths:  []string{"a", "b", "c"}, manifest: `{"a":{"x":1},"b":[1],"c":1}`, live: `{"a":1,"b":{"x":1},"c":{"x":1}}`,
			theirs: `{"f:c":{"f:x":{}}}`, want: `{"a":1,"b":{"x":1}}`,
		},
		"NoManagers": {
			reason: "Without managed fields the live values are sent.",
			paths:  []string{"m", "l"}, manifest: `{"m":{"a":1,"b":1},"l":[1]}`, live: `{"m":{"a":5},"l":[5,6]}`,
			want: `{"m":{"a":5,"b":1},"l":[5,6]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			live, given := shared(t, tc.live, tc.ours, tc.theirs), object(t, tc.manifest)
			before := []*unstructured.Unstructured{live.DeepCopy(), given.DeepCopy()}
			got, err := ignoring(t, tc.paths...).Payload(live, given, manager)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(object(t, tc.want), got); diff != "" {
				t.Errorf("%s\nPayload: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, []*unstructured.Unstructured{live, given}); diff != "" {
				t.Errorf("%s\narguments: -before, +after:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestHashOwnedWithIgnored(t *testing.T) {
	const (
		manifest = `{"spec":{"replicas":2,"paused":true},"args":["a","b"],"pools":{"x":{"size":1}},"off":false}`
		before   = `{"spec":{"replicas":2,"paused":true},"args":["a","b"],"pools":{"x":{"size":1}}}`
		ours     = `{"f:spec":{"f:replicas":{},"f:paused":{}},"f:args":{},"f:pools":{"f:x":{".":{},"f:size":{}}},"f:off":{}}`
		fewer    = `{"f:spec":{"f:paused":{}},"f:pools":{"f:x":{".":{}}},"f:off":{}}`
		theirs   = `{"f:spec":{"f:replicas":{}},"f:args":{},"f:pools":{"f:x":{"f:size":{}}}}`
	)
	ignored := ignoring(t, "spec.replicas", "args.1", "pools.*.size", "off")
	hash := func(t *testing.T, content, fields string, ignored Ignored) string {
		t.Helper()
		h, err := HashOwned(shared(t, content, fields, theirs), object(t, manifest), manager, ignored)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	for name, tc := range map[string]struct {
		reason        string
		after, fields string
		same          bool
	}{
		"ValuesOfOthers": {
			"Other values in ignored fields are no drift.",
			`{"spec":{"replicas":5,"paused":true},"args":["a","x"],"pools":{"x":{"size":7}}}`, ours, true,
		},
		"OwnersOfThem": {
			"Nor is another owner of them.",
			`{"spec":{"replicas":5,"paused":true},"args":["a","x"],"pools":{"x":{"size":7}}}`, fewer, true,
		},
		"Missing": {
			"An ignored field that is gone is drift.",
			`{"spec":{"paused":true},"args":["a","b"],"pools":{"x":{"size":1}}}`, ours, false,
		},
		"MissingPlace": {
			"So is a part of one that is owned as a whole.",
			`{"spec":{"replicas":2,"paused":true},"args":["a"],"pools":{"x":{"size":1}}}`, ours, false,
		},
		"Neighbour": {
			"Another value in a field beside it is drift.",
			`{"spec":{"replicas":2,"paused":false},"args":["a","b"],"pools":{"x":{"size":1}}}`, ours, false,
		},
		"NeighbouringPlace": {
			"So is one beside the place in what is owned as a whole, whoever owns that.",
			`{"spec":{"replicas":2,"paused":true},"args":["x","b"],"pools":{"x":{"size":1}}}`, fewer, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := hash(t, before, ours, ignored), hash(t, tc.after, tc.fields, ignored)
			if (first == second) != tc.same {
				t.Errorf("%s\nHashOwned: want same %t, got %q and %q", tc.reason, tc.same, first, second)
			}
		})
	}
	if hash(t, before, ours, ignored) == hash(t, before, ours, ignoring(t, "args.1")) {
		t.Error("A field that is ignored no more is to be applied")
	}
	if hash(t, `{"spec":{"replicas":2}}`, `{}`, ignored) == hash(t, `{"spec":{}}`, `{}`, ignored) {
		t.Error("A field that is gone is drift, even if the manager owns nothing")
	}
}

// FuzzPayload shows that whatever managed fields a target invents, what is sent identifies the resource, is as the
// manifest wants it where no path leads, and is the same each time.
func FuzzPayload(f *testing.F) {
	for _, seed := range [][4]string{
		{`{"kind":"D","a":{"b":1}}`, `{"kind":"D","a":{"b":2}}`, `{"f:kind":{},"f:a":{".":{},"f:b":{}}}`, `a.b`},
		{`{"a":[{"k":1,"x":1}]}`, `{"a":[{"k":2},{"k":1.0,"x":2}]}`, `{"f:a":{"k:{\"k\":1}":{".":{},"f:x":{}}}}`, `a.*.x`},
		{`{"a":[1,"1",[],{}]}`, `{"a":[[],1]}`, `{"f:a":{"v:1":{},"v:\"1\"":{},"v:[]":{},"i:2":{}}}`, `*`},
		{`{"a":[{"k":null},1]}`, `{"a":[{"k":null},2]}`, `{"f:a":{"k:{\"k\":null}":{},"k:{}":{}}}`, `a.0`},
		{`{"a":["x","y"]}`, `{"a":["y"]}`, `{"f:a":{}}`, `a.1`},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, manifest, live, fields, path string) {
		given, is := &unstructured.Unstructured{}, &unstructured.Unstructured{}
		s := strings.Split(path, ".")
		if utiljson.Unmarshal([]byte(manifest), &given.Object) != nil || given.Object == nil ||
			utiljson.Unmarshal([]byte(live), &is.Object) != nil || is.Object == nil {
			return
		}
		delete(is.Object, "metadata")
		is.SetManagedFields([]metav1.ManagedFieldsEntry{entry("other", update, fields)})
		ignored := ignoring(t, path)
		got, err := ignored.Payload(is, given, manager)
		if err != nil {
			return // The managed fields cannot be read.
		}
		again, _ := ignored.Payload(is, given, manager)
		if diff := cmp.Diff(got, again); diff != "" {
			t.Errorf("-first, +second:\n%s", diff)
		}
		for k, v := range given.Object {
			left := s[0] == k || s[0] == "*"
			if !left || k == "kind" || k == "apiVersion" {
				if diff := cmp.Diff(v, got.Object[k]); diff != "" {
					t.Errorf("%s is not left to others: -want, +got:\n%s", k, diff)
				}
			}
		}
	})
}
