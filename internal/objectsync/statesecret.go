package objectsync

import (
	"context"

	"github.com/pkg/errors"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// A stateSecret is the Secret with the state of an object.
type stateSecret struct {
	syncer *Syncer
	writer Writer
	id     Identity
	name   types.NamespacedName
	exists bool
	marked bool // It tells whose it is.
	stored state
}

// find returns the Secret, nil if there is none. It may have the name of an earlier version of the API.
func (s *stateSecret) find(states Cache) (*unstructured.Unstructured, error) {
	named, err := states.Get(s.name)
	if err != nil || named != nil {
		return named, err
	}
	keyed, err := states.States(s.id.Key())
	if err != nil {
		return nil, err
	}
	found := s.syncer.ChooseState(s.id.primary(), nil, keyed)
	if found != nil {
		s.name = nameOf(found)
	}
	return found, nil
}

// read returns the state that a Secret has, which is the one from now on. Nil is none. What is in it counts, and stays,
// whether or not there is room for it.
func (s *stateSecret) read(secret *unstructured.Unstructured, mayUse func(bytes int) bool) (state, error) {
	s.exists, s.marked = secret != nil, secret != nil && secret.GetAnnotations()[AnnotationPublication] != ""
	var err error
	if s.stored, err = readState(secret); err == nil {
		s.stored.mayUse = mayUse
		s.stored.fits(s.stored.size())
	}
	return s.stored, err
}

func (s *stateSecret) ref() Ref {
	return Ref{
		Version: Secrets.Version, Resource: Secrets.Resource, Kind: "Secret",
		Namespace: s.name.Namespace, Name: s.name.Name,
	}
}

// save writes a state if the Secret has another. Where the copy is goes with it, if that is known; where it is about to
// be made is written before. One that does not tell whose it is does from the first change on.
func (s *stateSecret) save(ctx context.Context, next *state, at place, changed bool) error {
	moves := next.copy.namespacedName() != s.stored.copy.namespacedName()
	if s.exists && !moves && next.equal(s.stored) && (s.marked || !changed) {
		return nil
	}
	if at.Name != "" {
		next.copy = at
	}
	secret, err := next.secret(s.name, s.id.Labels())
	if err != nil {
		return err
	}
	secret.SetAnnotations(map[string]string{AnnotationPublication: s.id.Publication})
	write := s.create
	if s.exists {
		write = s.patch
	}
	if err := write(ctx, secret); err != nil {
		return errors.Wrap(err, "cannot write the Secret with the state of the object")
	}
	s.exists, s.marked, s.stored = true, true, next.clone()
	return nil
}

// create creates the Secret. One that is there and is no state is not made one, as nobody knows who has put into it
// what.
func (s *stateSecret) create(ctx context.Context, secret *unstructured.Unstructured) error {
	err := s.writer.Create(ctx, Secrets, secret)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	found, err := s.writer.Live(ctx, s.ref())
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
	return errors.Wrapf(ErrForeign, "Secret %s is to hold the state of the object", s.name)
}

// patch writes the values that differ from those the Secret has.
func (s *stateSecret) patch(ctx context.Context, secret *unstructured.Unstructured) error {
	was, err := s.stored.data()
	if err != nil {
		return err
	}
	is, _, _ := unstructured.NestedMap(secret.Object, "data")
	body := map[string]any{"data": diff(was, is)}
	if !s.marked {
		body["metadata"] = map[string]any{"labels": secret.GetLabels(), "annotations": secret.GetAnnotations()}
	}
	return patch(ctx, s.writer, s.ref(), body)
}

// disown has the Secret tell of no publication any more.
func (s *stateSecret) disown(ctx context.Context) error {
	if !s.exists || !s.marked {
		return nil
	}
	return patch(ctx, s.writer, s.ref(), at([]string{"metadata", "annotations", AnnotationPublication}, nil))
}

// remove deletes the Secret.
func (s *stateSecret) remove(ctx context.Context) error {
	if !s.exists {
		return nil
	}
	if err := s.writer.Delete(ctx, s.ref(), ""); err != nil && !apierrors.IsNotFound(err) {
		return errors.Wrap(err, "cannot delete the Secret with the state of the object")
	}
	return nil
}
