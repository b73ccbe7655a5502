package objectsync

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

type object = map[string]any

func TestDiff(t *testing.T) {
	for reason, tc := range map[string]struct{ from, to, want object }{
		"A list is replaced.": {
			from: object{"a": []any{"b"}}, to: object{"a": []any{"b", "c"}}, want: object{"a": []any{"b", "c"}},
		},
		"1 is 1.0.": {from: object{"a": int64(1)}, to: object{"a": 1.0}},
		"Large whole numbers are compared as such.": {
			from: object{"a": int64(9007199254740992)}, to: object{"a": int64(9007199254740993)},
			want: object{"a": int64(9007199254740993)},
		},
		"Null is a value.": {from: object{}, to: object{"a": nil}, want: object{"a": null{}}},
		"Also within a new object.": {
			from: object{}, to: object{"a": object{"b": nil}}, want: object{"a": object{"b": null{}}},
		},
		"It goes like others.": {from: object{"a": nil}, to: object{}, want: object{"a": nil}},
	} {
		if d := cmp.Diff(tc.want, diff(tc.from, tc.to)); d != "" {
			t.Errorf("%s\n-want, +got:\n%s", reason, d)
		}
	}
}

// FuzzDiff shows that a patch makes of one object the other, as a server understands it, and that nothing is left to do
// then.
func FuzzDiff(f *testing.F) {
	f.Add(`{"a":{"b":1,"c":[1,2]},"d":"e"}`, `{"a":{"b":1.5},"f":{"g":{}}}`, `{"a":{"local":true}}`)
	f.Add(`{}`, `{"a":null,"b":{"c":null}}`, `{"b":"x"}`)
	f.Add(`{"a":1,"b":null}`, `{"a":null}`, `{"b":{"c":null}}`)                  // Nulls come and go.
	f.Add(`{"a":[1]}`, `{"a":[{"b":null,"c":[null]}]}`, `{}`)                    // They are in lists.
	f.Add(`{"a":{"b":"c"}}`, `{"a":{}}`, `{}`)                                   // What is gone is not removed.
	f.Add(`{}`, `{"a":{}}`, `{"a":{"x":"y"}}`)                                   // An empty object is there.
	f.Add(`{"a":{"b":"c","d":"e"}}`, `{"a":{"d":"e"}}`, `{}`)                    // A field is gone.
	f.Add(`{"a":"b"}`, `{"a":{"b":"c"}}`, `{}`)                                  // It gets another type.
	f.Add(`{"a":"b"}`, `{"a":{"b":"c","d":"e"}}`, `{"a":{"b":"c","local":"x"}}`) // Only a part differs.
	f.Add(`{"a":{"b":{"c":1}}}`, `{"a":{"b":{}}}`, `{"a":"b"}`)                  // There is no object.
	f.Fuzz(func(t *testing.T, a, b, c string) {
		var from, to, local object
		if utiljson.Unmarshal([]byte(a), &from) != nil || utiljson.Unmarshal([]byte(b), &to) != nil ||
			utiljson.Unmarshal([]byte(c), &local) != nil {
			return
		}
		change := diff(from, to)
		if got := applyPatch(t, from, change); !same(got, to) {
			t.Errorf("%s to %s: got %v by %v", a, b, got, change)
		}
		if d := diff(to, to); d != nil {
			t.Errorf("an object differs from itself: %v", d)
		}
		all, part := applyPatch(t, local, change), applyPatch(t, local, needed(change, local))
		if !same(full(all), full(part)) {
			t.Errorf("what is needed of %v for %s is not all: %v and %v", change, c, all, part)
		}
		if left := needed(change, all); left != nil {
			t.Errorf("something is left of %v for %v: %v", change, all, left)
		}
	})
}

// full returns an object without objects that are empty: a patch that only removes makes one where there was nothing,
// which nobody needs.
func full(o object) object {
	out := object{}
	for field, v := range o {
		if m, ok := v.(object); ok {
			if m = full(m); len(m) == 0 {
				continue
			}
			v = m
		}
		out[field] = v
	}
	return out
}

// applyPatch applies a patch to a field of an object as a server does.
func applyPatch(t *testing.T, o, patch object) object {
	t.Helper()
	if o == nil {
		o = object{}
	}
	if patch == nil {
		return o
	}
	u := &unstructured.Unstructured{Object: object{"metadata": object{"labels": object{"a": "b"}}, "x": o}}
	doc, p := encoded(u.Object), patchFor(u, object{"x": patch})
	out, err := jsonpatch.MergePatch(doc, p)
	if PatchType(p) == types.JSONPatchType {
		var steps jsonpatch.Patch
		if steps, err = jsonpatch.DecodePatch(p); err == nil {
			out, err = steps.Apply(doc)
		}
	}
	var got object
	if err == nil {
		err = utiljson.Unmarshal(out, &got)
	}
	if err != nil {
		t.Fatalf("%s of %s: %v", p, doc, err)
	}
	return asMap(got["x"])
}

// agentsKey is where api-syncagent remembers object web of namespace default in cluster1.
const agentsKey = "d5251a1f794dd6c030f8b61940523cc2ffba7fe5"

// TestStateIsTheAgents holds the name of the Secret and the keys in it that api-syncagent has. They were computed by
// hand: SHA-1 of the JSON with a newline.
func TestStateIsTheAgents(t *testing.T) {
	i := identity("default", "web")
	if got, want := i.StateName("v1"), "obj-state-cluster1-28b53283e9dc1094cb75"; got != want {
		t.Errorf("name: want %q, got %q", want, got)
	}
	s, _ := readState(nil)
	o := &copySync{rule: &copyRule{}, cluster: "cluster1", from: Ref{
		Group: i.Kind.Group, Version: "v1", Kind: i.Kind.Kind, Namespace: i.Namespace, Name: i.Name,
	}}
	s.remember(o, o.encode(map[string]any{
		"spec": map[string]any{"html": "a"}, "metadata": map[string]any{"labels": map[string]any{"a": "b"}},
	}), false)
	want := map[string][]byte{
		agentsKey: []byte(`{"apiVersion":"example.org/v1","kind":"Thing",` +
			`"metadata":{"labels":{"a":"b"},"name":"web","namespace":"default"},"spec":{"html":"a"}}`),
	}
	if diff := cmp.Diff(want, s.contents); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestReadStateOfDamage(t *testing.T) {
	for name, data := range map[string]any{
		"NoBase64": map[string]any{"a": "%"}, "NoRecords": map[string]any{keyRecords: "eA=="},
		"NoPlace": map[string]any{keyCopy: "eA=="},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := readState(&unstructured.Unstructured{Object: map[string]any{"data": data}}); err == nil {
				t.Error("want an error")
			}
		})
	}
	s, err := readState(&unstructured.Unstructured{Object: map[string]any{"data": map[string]any{agentsKey: "eA=="}}})
	o := &copySync{rule: &copyRule{}, cluster: "cluster1", from: Ref{Namespace: "default", Name: "web"}}
	if u := s.last(o); u != nil || err != nil {
		t.Errorf("a slot that cannot be read is unknown: got %v, %v", u, err)
	}
}

// TestSlots shows that of objects of one name, and of two copies of one, each is remembered: what of one is forgotten
// or changes leaves the others as they are. Those that api-syncagent has left have one place until they change.
func TestSlots(t *testing.T) {
	p, c := planning("", "")
	named, kind := *c, *c
	named.to.Name = "b"
	kind.from.Kind, kind.from.Resource = "ConfigMap", "configmaps"
	all := map[string]*copySync{"Secret": c, "Other": &named, "Kind": &kind}
	s := p.view.stored
	put := func(name, value string) {
		b := all[name].encode(data(value))
		s.remember(all[name], b, false)
	}
	check := func(when string, want map[string]string) {
		t.Helper()
		got := map[string]string{}
		for name, c := range all {
			if last := s.last(c); last != nil {
				got[name], _ = asMap(last["data"])["k"].(string)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", when, diff)
		}
	}
	put("Secret", "one")
	put("Kind", "two")
	put("Other", "three")
	agents, _ := c.keys()
	check("made", map[string]string{"Secret": "one", "Kind": "two", "Other": "three"})
	if s.contents[agents] == nil || len(s.contents) != 3 {
		t.Errorf("want the first in the agent's place, got %v", s.contents)
	}
	s.forget(c.record())
	put("Other", "four")
	check("forgotten", map[string]string{"Kind": "two", "Other": "four"})

	left := c.encode(data("one"))
	s, _ = readState(nil)
	s.contents[agents] = left
	if !s.isAgents(c) || s.isAgents(&kind) {
		t.Error("want the Secret known as the agent's, and nothing else")
	}
	delete(all, "Kind")
	s.remember(c, nil, false)
	s.remember(&named, nil, false)
	check("taken over", map[string]string{"Secret": "one", "Other": "one"})
	put("Secret", "two")
	check("changed", map[string]string{"Secret": "two", "Other": "one"})
	if s.forget(named.record()); s.isAgents(&named) || len(s.contents) != 1 {
		t.Errorf("want nothing left of the other, got %v", s.contents)
	}
}

// TestSizeOfRecord shows that a record has at most the size in a Secret that it is taken for.
func TestSizeOfRecord(t *testing.T) {
	_, c := planning(v1alpha1.OriginService, "")
	uid := types.UID(strings.Repeat("u", 36))
	r := recorded{Record: c.record(), Pending: true, UID: uid, CopyUID: uid, Key: hashJSON(nil)}
	r.From.Group, r.To.Group = "example.org", "example.org"
	if b, err := json.Marshal([]recorded{r, r}); err != nil || len(b) > 2*r.size() || len(b) < 2*(r.size()-20) {
		t.Errorf("want about %d bytes, got %d, %v", 2*r.size(), len(b), err)
	}
}

// ofCrossplane are the platform's fields in most cases.
var ofCrossplane = newPlatformFields([]string{
	"spec.crossplane", "spec.ref", "spec.some.deep", "status.secret", "status.crossplane.at",
})

// TestChangeOfPlatformFields shows which changes of a copy follow from what was last copied and what is to be.
func TestChangeOfPlatformFields(t *testing.T) {
	for name, tc := range map[string]struct {
		reason        string
		last, desired object
		want          object
	}{
		"SetAnew": {
			reason:  "What it sets goes with all that is in the field it sets, and no field beside it.",
			last:    object{"spec": object{"crossplane": object{"labels": object{"a": "b"}, "refs": "x"}}},
			desired: object{"spec": object{"crossplane": object{"labels": object{"c": "d"}}}},
			want:    object{"spec": object{"crossplane": object{"labels": object{"a": nil, "c": "d"}}}},
		},
		"SameBelow": {
			reason:  "Other fields of the consumer go as ever.",
			last:    object{"spec": object{"size": "L", "note": "n", "crossplane": object{"ref": "y"}}},
			desired: object{"spec": object{"size": "XL"}}, want: object{"spec": object{"size": "XL", "note": nil}},
		},
		"ObjectGone": {
			reason:  "An object that has such a field beside others stays, as the copy may have the field.",
			last:    object{"spec": object{"size": "L", "some": object{"field": "x", "deep": "y"}}},
			desired: object{"spec": object{"size": "L"}}, want: object{"spec": object{"some": object{"field": nil}}},
		},
		"SpecGone": {
			reason: "So does the spec.", last: object{"spec": object{"size": "L"}}, desired: object{},
			want: object{"spec": object{"size": nil}},
		},
		"SpecNull": {
			reason: "So does a spec that becomes null.", last: object{"spec": object{"size": "L"}},
			desired: object{"spec": nil}, want: object{"spec": object{"size": nil}},
		},
		"NothingCopied": {
			reason: "Nothing may have been copied.", desired: object{"spec": object{"size": "XL"}},
			want: object{"spec": object{"size": "XL"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := []object{runtime.DeepCopyJSON(tc.last), runtime.DeepCopyJSON(tc.desired)}
			got := ofCrossplane.change(tc.last, tc.desired)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, []object{tc.last, tc.desired}); diff != "" {
				t.Errorf("neither is to be changed: -before, +after:\n%s", diff)
			}
		})
	}
}

// A keptPatch is a Writer that keeps the last patch.
type keptPatch struct {
	Writer

	patch string
}

// Patch is that of a writer.
func (w *keptPatch) Patch(_ context.Context, _ Ref, patch []byte, _ ...string) (*unstructured.Unstructured, error) {
	w.patch = string(patch)
	return of(nil, nil), nil
}

// TestStateKeepsItsValues shows that a state which only gets marks keeps its values, and is written over the version
// that was read alone.
func TestStateKeepsItsValues(t *testing.T) {
	p, c := planning("", "")
	w := &keptPatch{}
	s, _ := readState(nil)
	s.remember(c, c.encode(data("one")), false)
	read := of(nil, nil)
	read.SetResourceVersion("7")
	read.Object["data"] = s.data()
	secret := &stateSecret{syncer: p.syncer, service: Side{Writer: w}, id: p.view.id}
	if _, err := secret.read(read); err != nil {
		t.Fatal(err)
	}
	if err := secret.save(t.Context(), &s, location{}, true); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(w.patch, `"data"`) || !strings.Contains(w.patch, `"resourceVersion":"7"`) {
		t.Errorf("want marks alone, for the version that was read, got %s", w.patch)
	}
}
