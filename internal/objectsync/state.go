package objectsync

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"

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
	// keyRecords is the key of the list of related objects, and keyPending of those whose copies are about to be made.
	// The keys of objects are hashes.
	keyRecords = "related"
	keyPending = "pending"
	// keyUIDs is the key of the UIDs of objects of the service cluster that consumers have named.
	keyUIDs = "uids"
	// keyHash is how many digits of a hash the name of a Secret has.
	keyHash = 20
)

// ErrTooLarge means that what has to be remembered of an object and its related objects does not fit into a Secret.
var ErrTooLarge = errors.New("object and its related objects are too large to be remembered")

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
	records recordSet
	pending recordSet         // of copies that are about to be made: nobody knows whether they are
	uids    map[Ref]types.UID // of related objects of the service cluster that a consumer has named, without versions

	bytes int // how much slots and uids take in a Secret
}

// A namedUID is one entry of uids.
type namedUID struct {
	Ref Ref       `json:"ref"`
	UID types.UID `json:"uid"`
}

// all returns the records and those of copies that are about to be made.
func (s *state) all() []Record { return slices.Concat(s.records.all(), s.pending.all()) }

// size returns how many bytes the values of the Secret have together. It takes no look at each of them.
func (s *state) size() int {
	n := s.bytes
	for key, list := range map[string]recordSet{keyRecords: s.records, keyPending: s.pending} {
		if size := list.size(); size > 0 {
			n += len(key) + size
		}
	}
	if len(s.uids) > 0 {
		n += len(keyUIDs) + len("[]") - len(",")
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

// readState returns the state that a Secret holds, an empty one for nil.
func readState(secret *unstructured.Unstructured) (state, error) {
	s := state{slots: map[string][]byte{}, records: newRecordSet(), pending: newRecordSet(), uids: map[Ref]types.UID{}}
	if secret == nil {
		return s, nil
	}
	data, _, _ := unstructured.NestedStringMap(secret.Object, "data")
	for key, encoded := range data {
		if key == keyRecords || key == keyPending || key == keyUIDs {
			continue
		}
		b, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return s, errors.Errorf("Secret %q has a value that is not base64", secret.GetName())
		}
		s.fill(slot{key, b})
	}
	records, err := readList[Record](secret, keyRecords)
	if err != nil {
		return s, err
	}
	pending, err := readList[Record](secret, keyPending)
	if err != nil {
		return s, err
	}
	s.records, s.pending = newRecordSet(records...), newRecordSet(pending...)
	uids, err := readList[namedUID](secret, keyUIDs)
	if err != nil {
		return s, err
	}
	for _, u := range uids {
		s.setUID(u.Ref, u.UID)
	}
	s.splitSlots(secret.GetLabels()[LabelCluster])
	return s, nil
}

// readList returns a list that a Secret holds.
func readList[T any](secret *unstructured.Unstructured, key string) ([]T, error) {
	encoded, found, _ := unstructured.NestedString(secret.Object, "data", key)
	if !found {
		return nil, nil
	}
	var records []T
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err == nil {
		err = json.Unmarshal(b, &records)
	}
	if err != nil {
		return nil, errors.Errorf("Secret %q has a list of related objects that cannot be read", secret.GetName())
	}
	return records, nil
}

// clone returns a copy that can be changed.
func (s *state) clone() state {
	return state{
		slots: maps.Clone(s.slots), records: s.records.clone(), pending: s.pending.clone(), uids: maps.Clone(s.uids),
		bytes: s.bytes,
	}
}

// equal reports whether two states are the same.
func (s *state) equal(t state) bool {
	return maps.EqualFunc(s.slots, t.slots, bytes.Equal) && s.records.equal(t.records) && s.pending.equal(t.pending) &&
		maps.Equal(s.uids, t.uids)
}

// key returns the key of the slot that an object has. That is api-syncagent's key, unless the slot has an object of
// another kind, or had one, or another copy of the same object has the slot.
func (s *state) key(o subject) string {
	if o.record != (Record{}) && (s.hasSlotOfCopy(o) || s.isSecond(o)) {
		return o.slotKeyOfCopy()
	}
	own := o.ownKey()
	if _, ok := s.slots[own]; ok {
		return own
	}
	if s.holdsOtherKind(o) {
		return own
	}
	return o.agentsKey()
}

// ownKey returns where an object is remembered that would share a place with one of another kind.
func (o subject) ownKey() string {
	return hashJSON(struct{ ClusterName, Group, Kind, Namespace, Name string }{
		o.cluster, o.kind.Group, o.kind.Kind, o.Namespace, o.Name,
	})
}

// agentsKey returns where api-syncagent remembers an object.
func (o subject) agentsKey() string {
	return hashJSON(struct{ ClusterName, WorkspacePath, Namespace, Name string }{o.cluster, "", o.Namespace, o.Name})
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

// get returns what an object was, nil if it is not remembered.
func (s *state) get(o subject) *unstructured.Unstructured {
	b, ok := s.slots[s.key(o)]
	if !ok {
		return nil
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(b, &u.Object); err != nil || u.Object == nil {
		return nil
	}
	return u
}

// A slot is what is remembered of one object, and where.
type slot struct {
	key   string
	value []byte
}

// put remembers what is copied of an object.
func (s *state) put(o subject, apiVersion string, content map[string]any) error {
	next, err := s.slotOf(o, apiVersion, content)
	if err == nil {
		s.fill(next)
	}
	return err
}

// fill remembers what a slot holds.
func (s *state) fill(next slot) {
	s.clear(next.key)
	s.slots[next.key] = next.value
	s.bytes += len(next.key) + len(next.value)
}

// clear forgets what a slot holds.
func (s *state) clear(key string) {
	if was, ok := s.slots[key]; ok {
		s.bytes -= len(key) + len(was)
		delete(s.slots, key)
	}
}

// hasRoomFor fails if the Secret would be too large with a slot, as another one or in place of what it holds.
func (s *state) hasRoomFor(next slot) error {
	size := s.size() + len(next.value) - len(s.slots[next.key])
	if _, ok := s.slots[next.key]; !ok {
		size += len(next.key)
	}
	return checkSize(size)
}

func checkSize(bytes int) error {
	if bytes > stateMax {
		return errors.Wrapf(ErrTooLarge, "%d of %d bytes", bytes, stateMax)
	}
	return nil
}

// slotOf returns how it is remembered what is copied of an object.
func (s *state) slotOf(o subject, apiVersion string, content map[string]any) (slot, error) {
	object := maps.Clone(content)
	metadata, _ := content["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = map[string]any{}
	}
	if metadata["name"] = o.Name; o.Namespace != "" {
		metadata["namespace"] = o.Namespace
	}
	object["apiVersion"], object["kind"], object["metadata"] = apiVersion, o.kind.Kind, metadata
	b := &bytes.Buffer{}
	if err := json.NewEncoder(b).Encode(object); err != nil {
		return slot{}, errors.New("cannot encode object")
	}
	return slot{s.key(o), bytes.TrimSpace(b.Bytes())}, nil
}

// setUID remembers which object of the service cluster was copied.
func (s *state) setUID(r Ref, uid types.UID) {
	s.dropUID(r)
	s.uids[r] = uid
	s.bytes += bytesOfUID(r, uid)
}

// dropUID forgets which object was copied.
func (s *state) dropUID(r Ref) {
	if uid, ok := s.uids[r]; ok {
		s.bytes -= bytesOfUID(r, uid)
		delete(s.uids, r)
	}
}

// bytesOfUID returns how much an entry of uids takes, with a comma.
func bytesOfUID(r Ref, uid types.UID) int {
	b, err := json.Marshal(namedUID{r, uid})
	if err != nil {
		return 0 // A struct of texts can be encoded.
	}
	return len(b) + len(",")
}

// prune forgets all objects but those given.
func (s *state) prune(keep ...subject) {
	keys := map[string]bool{}
	for _, o := range keep {
		keys[s.key(o)] = true
	}
	for key := range s.slots {
		if !keys[key] {
			s.clear(key)
		}
	}
}

// data returns the values of the Secret.
func (s *state) data() (map[string]any, error) {
	if err := checkSize(s.size()); err != nil {
		return nil, err
	}
	out := map[string]any{}
	add := func(key string, b []byte) { out[key] = base64.StdEncoding.EncodeToString(b) }
	for key, b := range s.slots {
		add(key, b)
	}
	for key, list := range map[string]recordSet{keyRecords: s.records, keyPending: s.pending} {
		if len(list.by) == 0 {
			continue
		}
		b, err := json.Marshal(list.all())
		if err != nil {
			return nil, errors.New("cannot encode list of related objects")
		}
		add(key, b)
	}
	if len(s.uids) > 0 {
		b, err := json.Marshal(s.sortedUIDs())
		if err != nil {
			return nil, errors.New("cannot encode UIDs of related objects")
		}
		add(keyUIDs, b)
	}
	return out, nil
}

func (s *state) sortedUIDs() []namedUID {
	var out []namedUID
	for r, uid := range s.uids {
		out = append(out, namedUID{r, uid})
	}
	slices.SortFunc(out, func(a, b namedUID) int { return strings.Compare(a.Ref.String(), b.Ref.String()) })
	return out
}

// secret returns the Secret that holds the state.
func (s *state) secret(name types.NamespacedName, labels map[string]string) (*unstructured.Unstructured, error) {
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
