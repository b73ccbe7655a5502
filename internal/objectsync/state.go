package objectsync

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"

	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

const (
	// statePrefix begins the names of the Secrets that hold states.
	statePrefix = "obj-state-"
	// stateMax is how large the values of a Secret may get together, in bytes, somewhat below what a server takes.
	stateMax = 1000 << 10
	// keyCopy is the key of where the copy is, keyRecords of the list of related objects, and keyPending of those whose
	// copies are about to be made. The keys of objects are hashes.
	keyCopy    = "copy"
	keyRecords = "related"
	keyPending = "pending"
	// entryMax is how many bytes an entry of a list has beside its texts.
	entryMax = 200
	// RoomMost is how many bytes are remembered of the objects of a workspace, so that none uses up the memory of all. A
	// name counts as bytesPerName: 10,000 are all. Of each object bytesFree do not count, so that ordinary ones are
	// limited by their number alone, on which the quota of a workspace decides.
	RoomMost     = 16 << 20
	bytesPerName = RoomMost / 10_000
	bytesFree    = 8 << 10
	// keyHash is how many digits of a hash the name of a Secret has.
	keyHash = 20
)

// ErrNoRoom means that the objects of a workspace would use more than RoomMost.
var ErrNoRoom = errors.New("objects of the workspace refer to too many related objects, or to too large ones")

// ErrTooLarge means that what has to be remembered of an object and its related objects does not fit into a Secret.
var ErrTooLarge = errors.New("object and its related objects do not fit into the Secret with their state")

// StateName returns the name of the Secret with the state of an object, as api-syncagent has it.
func (i Identity) StateName(version string) string {
	return statePrefix + i.Cluster + "-" + hashJSON(map[string]any{
		"apiVersion": schema.GroupVersion{Group: i.Kind.Group, Version: version}.String(), "kind": i.Kind.Kind,
		"namespace": i.Namespace, "name": i.Name,
	})[:keyHash]
}

// A state is what is remembered of an object and of its related objects: what each was when it was last copied.
type state struct {
	slots   map[string][]byte // by the key of the object
	copy    place
	records records
	names   int                  // how many related objects the object names
	mayUse  func(bytes int) bool // asks for room in the workspace; nil for one that does not grow
}

// A place is where the copy of an object is, or is about to be made. It has no name if the state does not say where: it
// is api-syncagent's, or not all related objects are known since it was lost.
type place struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// UID is that of the copy, empty if it was not known when the state was written.
	UID types.UID `json:"uid,omitempty"`
}

func (p place) namespacedName() types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// size returns how many bytes the values of the Secret have together, or somewhat more, but for where the copy is.
func (s *state) size() int {
	n := 0
	for key, b := range s.slots {
		n += len(key) + len(b)
	}
	for _, copies := range s.records {
		for _, r := range copies {
			n += entryMax + len(r.Identifier) + r.From.size() + r.To.size() + len(r.UID) + len(r.CopyUID)
		}
	}
	return n
}

// A subject is an object that is remembered.
type subject struct {
	types.NamespacedName

	cluster string // of the object that is copied; empty if that is on the service cluster
	kind    schema.GroupKind
	record  Record // plain, of the copy of a related object; empty for a primary
}

func (i Identity) subject() subject {
	return subject{NamespacedName: i.NamespacedName, cluster: i.Cluster, kind: i.Kind}
}

// readState returns the state that a Secret holds, an empty one for nil.
func readState(secret *unstructured.Unstructured) (state, error) {
	s := state{slots: map[string][]byte{}, records: records{}}
	if secret == nil {
		return s, nil
	}
	var made, pending []recorded
	lists := map[string]any{keyCopy: &s.copy, keyRecords: &made, keyPending: &pending}
	for key, list := range lists {
		if err := readValue(secret, key, list); err != nil {
			return s, err
		}
	}
	for _, r := range pending {
		s.records.set(r)
	}
	for _, r := range made {
		r.made = true
		s.records.set(r)
	}
	data, _, _ := unstructured.NestedStringMap(secret.Object, "data")
	for key, encoded := range data {
		b, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return s, errors.Errorf("Secret %q has a value that is not base64", secret.GetName())
		}
		if lists[key] == nil {
			s.slots[key] = b
		}
	}
	return s, nil
}

// readValue reads a value of ours that a Secret holds, nothing if it has none of that key.
func readValue(secret *unstructured.Unstructured, key string, into any) error {
	encoded, found, _ := unstructured.NestedString(secret.Object, "data", key)
	if !found {
		return nil
	}
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		return errors.Errorf("Secret %q has a value %q that cannot be read", secret.GetName(), key)
	}
	return nil
}

// clone returns a copy that can be changed.
func (s *state) clone() state {
	out := *s
	out.slots, out.records = maps.Clone(s.slots), s.records.clone()
	return out
}

// equal reports whether two states are the same, but for where the copy is: that is written with the rest.
func (s *state) equal(t state) bool {
	return maps.EqualFunc(s.slots, t.slots, bytes.Equal) &&
		maps.EqualFunc(s.records, t.records, maps.Equal[map[Ref]recorded, map[Ref]recorded])
}

// key returns where an object is remembered. That is api-syncagent's place, unless an object of another kind has that,
// or it is of another copy of the same object.
func (s *state) key(o subject) string {
	own := o.ownKey()
	_, has := s.slots[own]
	if is, others := s.copiesOf(o); has || s.holdsOtherKind(o) || others && !is {
		return own
	}
	return o.agentsKey()
}

// nextKey returns where an object is to be remembered. From api-syncagent's place other copies of the same object may
// still have to be read.
func (s *state) nextKey(o subject) string {
	if _, others := s.copiesOf(o); others {
		return o.ownKey()
	}
	return s.key(o)
}

// copiesOf reports whether this copy of an object is recorded, and whether others are.
func (s *state) copiesOf(o subject) (is, others bool) {
	all := s.records[o.record.origin()]
	_, is = all[o.record.To]
	return is, len(all) > 1 || len(all) == 1 && !is
}

// ownKey returns where an object is remembered that would share a place with one of another kind, or with another copy.
func (o subject) ownKey() string {
	return hashJSON(struct {
		ClusterName, Group, Kind, Namespace, Name string
		To                                        Ref `json:",omitzero"`
	}{o.cluster, o.kind.Group, o.kind.Kind, o.Namespace, o.Name, o.record.To})
}

// agentsKey returns where api-syncagent remembers an object.
func (o subject) agentsKey() string {
	return hashJSON(struct{ ClusterName, WorkspacePath, Namespace, Name string }{o.cluster, "", o.Namespace, o.Name})
}

// holdsOtherKind reports whether api-syncagent's place for an object has one of another kind.
func (s *state) holdsOtherKind(o subject) bool {
	b, ok := s.slots[o.agentsKey()]
	return ok && kindIn(b) != o.kind
}

// isAgents reports whether api-syncagent has copied a related object: it remembers objects, but not where their copies
// are. What we have remembered is recorded, too, so that a copy of it which is not is somebody else's.
func (s *state) isAgents(o subject) bool {
	return kindIn(s.slots[o.agentsKey()]) == o.kind && len(s.records[o.record.origin()]) == 0
}

// kindIn returns the kind of an object that is remembered.
func kindIn(b []byte) schema.GroupKind {
	var o struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	_ = json.Unmarshal(b, &o) // What cannot be read has no kind.
	return schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind()
}

// objectIn returns an object that is remembered, nil if it is not or cannot be read.
func objectIn(b []byte) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(b, &u.Object); err != nil || u.Object == nil {
		return nil
	}
	return u
}

// last returns what of an object was last copied, nil if that is not remembered.
func (s *state) last(o subject, r Resource) map[string]any {
	if u := objectIn(s.slots[s.key(o)]); u != nil {
		return content(u, r.Status)
	}
	return nil
}

// encode returns how it is remembered what is copied of an object.
func (o subject) encode(apiVersion string, content map[string]any) ([]byte, error) {
	metadata := merged(asMap(content["metadata"]), map[string]any{"name": o.Name})
	if o.Namespace != "" {
		metadata["namespace"] = o.Namespace
	}
	b, err := json.Marshal(merged(content, map[string]any{
		"apiVersion": apiVersion, "kind": o.kind.Kind, "metadata": metadata,
	}))
	if err != nil {
		return nil, errors.New("cannot encode object")
	}
	return b, nil
}

// put remembers what encode has returned for an object, nothing if that is nil.
func (s *state) put(o subject, b []byte) {
	if b != nil {
		s.slots[s.nextKey(o)] = b
	}
}

// checkPut fails if there is no room for that: what cannot be remembered of a copy would never be taken out of it
// again.
func (s *state) checkPut(o subject, b []byte) error {
	if b == nil {
		return nil
	}
	return s.checkSize(s.size() + len(b) - len(s.slots[s.nextKey(o)]))
}

func (s *state) checkSize(bytes int) error {
	switch {
	case bytes > stateMax:
		return errors.Wrapf(ErrTooLarge, "%d of %d bytes", bytes, stateMax)
	case !s.fits(bytes):
		return ErrNoRoom
	}
	return nil
}

// fits asks for room for so many bytes, beside the names of related objects.
func (s *state) fits(bytes int) bool {
	return s.mayUse == nil || s.mayUse(s.names*bytesPerName+max(0, bytes-bytesFree))
}

// record records that the copy of a related object has been made or, not made, is about to be.
func (s *state) record(c *copySync, made bool) {
	r := recorded{Record: c.record(), made: made}
	if c.origin != nil {
		r.UID = c.origin.GetUID()
	}
	if made && c.copied != nil {
		r.CopyUID = c.copied.GetUID()
	}
	s.records.set(r)
}

// disown forgets a copy of a related object.
func (s *state) disown(r Record, workspace string) {
	o := subjectIn(r, workspace)
	s.records.remove(r)
	delete(s.slots, o.ownKey())
	if len(s.records[r.origin()]) > 0 {
		return
	}
	if !s.holdsOtherKind(o) {
		delete(s.slots, o.agentsKey())
	}
}

// prune forgets all objects but those given.
func (s *state) prune(keep ...subject) {
	keys := map[string]bool{}
	for _, o := range keep {
		keys[s.key(o)] = true
	}
	maps.DeleteFunc(s.slots, func(key string, _ []byte) bool { return !keys[key] })
}

// data returns the values of the Secret.
func (s *state) data() (map[string]any, error) {
	out := map[string]any{}
	for key, b := range s.slots {
		out[key] = base64.StdEncoding.EncodeToString(b)
	}
	values := map[string]any{}
	if s.copy.Name != "" {
		values[keyCopy] = s.copy
	}
	for key, list := range map[string][]recorded{keyRecords: s.records.list(true), keyPending: s.records.list(false)} {
		if len(list) > 0 {
			values[key] = list
		}
	}
	for key, value := range values {
		b, err := json.Marshal(value)
		if err != nil {
			return nil, errors.New("cannot encode what is remembered")
		}
		out[key] = base64.StdEncoding.EncodeToString(b)
	}
	return out, nil
}

// secret returns the Secret that holds the state.
func (s *state) secret(name types.NamespacedName, labels map[string]string) (*unstructured.Unstructured, error) {
	if err := s.checkSize(s.size()); err != nil {
		return nil, err
	}
	data, err := s.data()
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": data,
	}}
	u.SetNamespace(name.Namespace)
	u.SetName(name.Name)
	l := maps.Clone(labels)
	l[LabelState] = "true"
	u.SetLabels(l)
	return u, nil
}
