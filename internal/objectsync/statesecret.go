package objectsync

import (
	"bytes"
	"context"
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// A stateSecret is the Secret with the state of an object.
type stateSecret struct {
	syncer  *Syncer
	service Side
	id      Identity
	name    types.NamespacedName
	exists  bool
	marked  bool   // It tells whose it is.
	version string // that was read, empty if it has been written since
	stored  state
}

// find returns the Secret, nil if there is none. It may have a name from when the API had another version.
func (s *stateSecret) find(states Cache) (*unstructured.Unstructured, error) {
	named, err := states.Get(s.name)
	if err != nil || named != nil {
		return named, err
	}
	keyed, err := states.States(s.id.Key())
	if err != nil {
		return nil, err
	}
	found := s.syncer.ChooseState(s.id.Primary, nil, keyed)
	if found != nil {
		s.name = nameOf(found)
	}
	return found, nil
}

// read returns the state that a Secret has, which is the one from now on. Nil is none.
func (s *stateSecret) read(secret *unstructured.Unstructured) (state, error) {
	s.exists, s.marked = secret != nil, secret != nil && secret.GetAnnotations()[AnnotationPublication] != ""
	if s.exists {
		s.version = secret.GetResourceVersion()
	}
	var err error
	s.stored, err = readState(secret)
	return s.stored, err
}

func (s *stateSecret) ref() Ref {
	return Resource{GroupVersionResource: Secrets, Kind: "Secret"}.ref(s.name)
}

// save writes a state if the Secret has another. Where the copy is goes with it, if that is known; where it is about to
// be made is written before. One that does not tell whose it is does from the first change on, or if it has to.
func (s *stateSecret) save(ctx context.Context, next *state, at location, tells bool) error {
	moves := next.copy.NamespacedName != s.stored.copy.NamespacedName
	same := maps.EqualFunc(next.contents, s.stored.contents, bytes.Equal) && maps.Equal(next.records, s.stored.records)
	if s.exists && !moves && same && (s.marked || !tells) {
		return nil
	}
	if at.Name != "" {
		next.copy = at
	}
	if err := checkSize(next.size()); err != nil {
		return err
	}
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": next.data(),
	}}
	secret.SetNamespace(s.name.Namespace)
	secret.SetName(s.name.Name)
	labels := s.id.Labels()
	labels[LabelState] = "true"
	secret.SetLabels(labels)
	secret.SetAnnotations(map[string]string{AnnotationPublication: s.id.Publication})
	write := s.create
	if s.exists {
		write = s.patch
	}
	if err := write(ctx, secret); err != nil {
		return errors.Wrap(err, "cannot write the sync-state Secret of the object")
	}
	s.exists, s.marked, s.version, s.stored = true, true, "", next.clone()
	return nil
}

// create creates the Secret. One that is there and is no state is not made one, as nobody knows who has put into it
// what.
func (s *stateSecret) create(ctx context.Context, secret *unstructured.Unstructured) error {
	_, err := s.service.create(ctx, Secrets, secret)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	found, err := s.service.Writer.Live(ctx, s.ref())
	if err != nil {
		return err
	}
	if !s.syncer.Owns(found) {
		return s.notOurs()
	}
	return s.patch(ctx, secret)
}

// notOurs is the error that the Secret is not a state of this owner.
func (s *stateSecret) notOurs() error {
	return errors.Wrapf(ErrForeign, "Secret %s is not the sync-state Secret of the object", s.name)
}

// patch writes the values that differ from those the Secret has. It is a conflict if that is not as it was read, as
// after a restore: what it is to remember may not have reached the copies of that time.
func (s *stateSecret) patch(ctx context.Context, secret *unstructured.Unstructured) error {
	metadata := map[string]any{}
	if !s.marked {
		metadata["labels"], metadata["annotations"] = secret.GetLabels(), secret.GetAnnotations()
	}
	if s.version != "" {
		metadata["resourceVersion"] = s.version
	}
	body := map[string]any{"metadata": metadata}
	if data := diff(s.stored.data(), asMap(secret.Object["data"])); data != nil { // Null would remove all.
		body["data"] = data
	}
	_, err := s.service.patch(ctx, s.ref(), nil, body)
	return err
}

// detach takes the publication off the Secret.
func (s *stateSecret) detach(ctx context.Context) error {
	if !s.exists || !s.marked {
		return nil
	}
	_, err := s.service.patch(ctx, s.ref(), nil, at([]string{"metadata", "annotations", AnnotationPublication}, nil))
	return err
}

// remove deletes the Secret.
func (s *stateSecret) remove(ctx context.Context) error {
	if !s.exists {
		return nil
	}
	if err := s.service.delete(ctx, s.ref(), "", nil); err != nil && !apierrors.IsNotFound(err) {
		return errors.Wrap(err, "cannot delete the sync-state Secret of the object")
	}
	return nil
}

// RefOf names the object of a consumer.
func (s *Syncer) RefOf(p Primary) Ref { return s.primary.from.ref(p.NamespacedName) }

// copyRef names a copy of an object.
func (s *Syncer) copyRef(n types.NamespacedName) Ref { return s.primary.to.ref(n) }

// StateOf returns the name of the Secret with the state of an object.
func (s *Syncer) StateOf(p Primary) types.NamespacedName {
	return types.NamespacedName{Namespace: s.config.StateNamespace, Name: s.identity(p).StateName(s.primary.from.Version)}
}

// ChooseState returns the state of an object, nil if there is none: the Secret with the name that it has by now, or one
// with its key that was made when the API had another version.
func (s *Syncer) ChooseState(p Primary, named *unstructured.Unstructured,
	keyed []*unstructured.Unstructured,
) *unstructured.Unstructured {
	if named != nil {
		return named
	}
	i := slices.IndexFunc(keyed, func(u *unstructured.Unstructured) bool {
		return s.Owns(u) && slotIn(u, p.Cluster, s.RefOf(p)) != nil
	})
	if i < 0 {
		return nil
	}
	return keyed[i]
}

// NamesState reports whether a name of a Secret is one of states.
func (s *Syncer) NamesState(n types.NamespacedName) bool {
	return n.Namespace == s.config.StateNamespace && strings.HasPrefix(n.Name, statePrefix)
}

// Owns reports whether a Secret is a state of this publication, or of none: those of api-syncagent do not tell whose
// they are.
func (s *Syncer) Owns(secret *unstructured.Unstructured) bool {
	l, by := secret.GetLabels(), secret.GetAnnotations()[AnnotationPublication]
	agent := l[v1alpha1.LabelKeyAgentName]
	return l[LabelState] != "" && (agent == "" || agent == s.config.Agent) && (by == "" || by == s.config.Publication)
}

// Held returns what an object keeps by its state, nothing if the Secret is none of this owner.
func (s *Syncer) Held(p Primary, secret *unstructured.Unstructured) []Holding {
	if secret == nil || !s.Owns(secret) {
		return nil
	}
	all := HeldBy(secret)
	for i := range all {
		all[i].Primary = p
	}
	return all
}

// HeldBy returns the related objects in a state: those with a copy, and those whose copy is about to be made. Of the
// primary it returns the logical cluster only. A state that cannot be read has none: the sync of its object fails.
func HeldBy(secret *unstructured.Unstructured) []Holding {
	if secret == nil {
		return nil
	}
	var records []recorded
	if readValue(secret, keyRecords, &records) != nil {
		return nil
	}
	var all []Holding
	for _, r := range records {
		all = append(all, Holding{
			Primary: Primary{Cluster: secret.GetLabels()[LabelCluster]}, State: nameOf(secret), Record: r.Record,
			Kept: !r.Pending,
		})
	}
	return all
}

// identity returns that of an object, without the path of its workspace.
func (s *Syncer) identity(p Primary) Identity {
	return Identity{
		Primary: p, Agent: s.config.Agent, Publication: s.config.Publication,
		Kind: schema.GroupKind{Group: s.primary.from.Group, Kind: s.primary.from.Kind},
	}
}

// slotIn returns what a state remembers of an object, nil if it is not remembered there. It reads nothing else of it.
func slotIn(secret *unstructured.Unstructured, cluster string, o Ref) []byte {
	data, _, _ := unstructured.NestedFieldNoCopy(secret.Object, "data")
	agents, own := keysOf(cluster, o, Ref{})
	for _, key := range []string{own, agents} {
		encoded, _ := asMap(data)[key].(string)
		if b, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(b) > 0 && kindIn(b) == o.groupKind() {
			return b
		}
	}
	return nil
}

// IsAt reports whether an object is where a state says that the copy is, or may be if the state does not say where. A
// Secret that is nil says that it is nowhere.
func IsAt(secret, u *unstructured.Unstructured) bool {
	var at location
	return secret != nil && readValue(secret, keyCopy, &at) == nil &&
		(at.Name == "" || at.NamespacedName == nameOf(u))
}
