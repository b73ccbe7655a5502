package objectsync

import (
	"cmp"
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
	// keyCopy is the key of where the copy is, and keyRecords of the list of related objects. The keys of objects are
	// hashes.
	keyCopy    = "copy"
	keyRecords = "related"
	// entryMax is how many bytes an entry of the list has beside what it is called.
	entryMax = 360
	// keyHash is how many digits of a hash the name of a Secret has.
	keyHash = 20
)

// ErrTooLarge means that what has to be remembered of an object and its related objects does not fit into a Secret.
var ErrTooLarge = errors.New("the object and its related objects are too large for their " +
	"sync-state Secret: make them smaller")

// StateName returns the name of the Secret with the state of an object, as api-syncagent has it.
func (i Identity) StateName(version string) string {
	return statePrefix + i.Cluster + "-" + hashJSON(map[string]any{
		"apiVersion": schema.GroupVersion{Group: i.Kind.Group, Version: version}.String(), "kind": i.Kind.Kind,
		"namespace": i.Namespace, "name": i.Name,
	})[:keyHash]
}

// A state is what is remembered of an object and of its related objects: what each was when it was last copied.
type state struct {
	contents map[string][]byte // by the key of the object
	copy     location
	records  map[Record]recorded // by what tells a copy from others
}

// A location is where the copy of an object is, or is about to be made. It has no name if the state does not say where:
// it is api-syncagent's, or not all related objects are known since it was lost.
type location struct {
	types.NamespacedName

	// UID is that of the copy, empty if it was not known when the state was written.
	UID types.UID `json:"uid,omitempty"`
}

// size returns how many bytes the values of the Secret have together, or somewhat more, but for where the copy is.
func (s *state) size() int {
	n := 0
	for key, b := range s.contents {
		n += len(key) + len(b)
	}
	for _, r := range s.records {
		n += r.size()
	}
	return n
}

// list returns all records, sorted.
func (s *state) list() []recorded {
	return slices.SortedFunc(maps.Values(s.records), func(a, b recorded) int {
		return cmp.Or(
			strings.Compare(a.Identifier, b.Identifier), strings.Compare(a.From.String(), b.From.String()),
			strings.Compare(a.To.String(), b.To.String()), strings.Compare(a.Key, b.Key),
		)
	})
}

// isMade reports whether it is recorded that a copy has been made.
func (s *state) isMade(r Record) bool {
	is, ok := s.records[r.plain()]
	return ok && !is.Pending
}

// readState returns the state that a Secret holds, an empty one for nil.
func readState(secret *unstructured.Unstructured) (state, error) {
	s := state{contents: map[string][]byte{}, records: map[Record]recorded{}}
	if secret == nil {
		return s, nil
	}
	var list []recorded
	for key, value := range map[string]any{keyCopy: &s.copy, keyRecords: &list} {
		if err := readValue(secret, key, value); err != nil {
			return s, err
		}
	}
	data, _, _ := unstructured.NestedStringMap(secret.Object, "data")
	for key, encoded := range data {
		b, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return s, errors.Errorf("Secret %q has a value that is not base64", secret.GetName())
		}
		if key != keyCopy && key != keyRecords {
			s.contents[key] = b
		}
	}
	for _, r := range list {
		s.records[r.plain()] = r
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
	out.contents, out.records = maps.Clone(s.contents), maps.Clone(s.records)
	return out
}

// contentKey returns the key of what was last copied: that which is recorded, or else api-syncagent's for the object,
// unless one of another kind has that.
func (s *state) contentKey(c *copySync) string {
	if is := s.records[c.record().plain()]; is.Key != "" {
		return is.Key
	}
	agents, own := c.keys()
	b, taken := s.contents[agents]
	if _, has := s.contents[own]; has || taken && kindIn(b) != c.from.groupKind() {
		return own
	}
	return agents
}

// nextKey returns the key under which a copy is to be remembered. Another copy of the same object may still have to be
// read by the one that it has.
func (s *state) nextKey(c *copySync) string {
	key := s.contentKey(c)
	if s.hasOther(c.record(), key) {
		_, key = c.keys()
	}
	return key
}

// hasOther reports whether another copy of the same object is recorded, under a key unless that is empty. Copies that
// api-syncagent has made share a key.
func (s *state) hasOther(than Record, key string) bool {
	than = than.plain()
	for r, x := range s.records {
		if r != than && r.isOf(than) && (key == "" || x.Key == key) {
			return true
		}
	}
	return false
}

// keys returns those by which the object of a copy is remembered.
func (c *copySync) keys() (agents, own string) {
	if c.isPrimary() {
		return keysOf(c.cluster, c.from, Ref{})
	}
	return keysOf(c.cluster, c.from, c.to.Plain())
}

// keysOf returns the key by which api-syncagent remembers an object of a logical cluster, or of the service cluster if
// that is empty, and the one for an object that would share it with one of another kind, or for another copy.
func keysOf(cluster string, from, to Ref) (agents, own string) {
	agents = hashJSON(struct{ ClusterName, WorkspacePath, Namespace, Name string }{
		cluster, "", from.Namespace, from.Name,
	})
	own = hashJSON(struct {
		ClusterName, Group, Kind, Namespace, Name string
		To                                        Ref `json:",omitzero"`
	}{cluster, from.Group, from.Kind, from.Namespace, from.Name, to})
	return agents, own
}

// holdsOtherKind reports whether api-syncagent's place for an object has one of another kind.
func (s *state) holdsOtherKind(c *copySync) bool {
	agents, _ := c.keys()
	b, ok := s.contents[agents]
	return ok && kindIn(b) != c.from.groupKind()
}

// isAgents reports whether api-syncagent has copied a related object: it remembers objects, but not where their copies
// are. What we have remembered is recorded, too, so that a copy of it which is not is somebody else's.
func (s *state) isAgents(c *copySync) bool {
	agents, _ := c.keys()
	return kindIn(s.contents[agents]) == c.from.groupKind() && !s.hasOther(c.record(), "")
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

// last returns what of an object was last copied, nil if that is not remembered or cannot be read.
func (s *state) last(c *copySync) map[string]any {
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(s.contents[s.contentKey(c)], &u.Object); err != nil || u.Object == nil {
		return nil
	}
	return content(u, c.rule.from.Status)
}

// encode returns how it is remembered what is copied of an object.
func (c *copySync) encode(content map[string]any) []byte {
	metadata := merged(asMap(content["metadata"]), map[string]any{"name": c.from.Name})
	if c.from.Namespace != "" {
		metadata["namespace"] = c.from.Namespace
	}
	return encoded(merged(content, map[string]any{
		"apiVersion": c.from.GVR().GroupVersion().String(), "kind": c.from.Kind, "metadata": metadata,
	}))
}

// checkRoom fails if there is no room for what encode has returned: what cannot be remembered of a copy would never be
// taken out of it again. Nil needs none.
func (s *state) checkRoom(c *copySync, b []byte) error {
	if b == nil {
		return nil
	}
	size := s.size() + len(b) - len(s.contents[s.nextKey(c)])
	if _, is := s.records[c.record().plain()]; !is {
		size += recorded{Record: c.record()}.size()
	}
	return checkSize(size)
}

// remember records that a copy has been made or, pending, is about to be, and what encode has returned for it, as
// before if that is nil.
func (s *state) remember(c *copySync, b []byte, pending bool) {
	key := s.contentKey(c)
	if b != nil {
		key = s.nextKey(c)
		s.contents[key] = b
	}
	if c.isPrimary() {
		return
	}
	r := recorded{Record: c.record(), Pending: pending, Key: key}
	if c.origin != nil {
		r.UID = c.origin.GetUID()
	}
	if !pending && c.copied != nil {
		r.CopyUID = c.copied.GetUID()
	}
	s.records[r.plain()] = r
}

func checkSize(bytes int) error {
	if bytes > stateMax {
		return errors.Wrapf(ErrTooLarge, "%d of %d bytes", bytes, stateMax)
	}
	return nil
}

// forget forgets a copy of a related object.
func (s *state) forget(r Record) {
	key := s.records[r.plain()].Key
	delete(s.records, r.plain())
	if !s.hasOther(r, key) {
		delete(s.contents, key)
	}
}

// prune forgets what was copied of objects that have no record, but for some.
func (s *state) prune(used map[string]bool) {
	for _, r := range s.records {
		used[r.Key] = true
	}
	maps.DeleteFunc(s.contents, func(key string, _ []byte) bool { return !used[key] })
}

// data returns the values of the Secret.
func (s *state) data() map[string]any {
	all := maps.Clone(s.contents)
	if s.copy.Name != "" {
		all[keyCopy] = encoded(s.copy)
	}
	if len(s.records) > 0 {
		all[keyRecords] = encoded(s.list())
	}
	out := map[string]any{}
	for key, b := range all {
		out[key] = base64.StdEncoding.EncodeToString(b)
	}
	return out
}
