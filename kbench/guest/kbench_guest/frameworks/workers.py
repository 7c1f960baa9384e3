"""The workers that train one model together: here a single one, and what a feature with several overrides."""

from typing import Any, Callable, Sequence


class Workers:
    """As they are in a process that trains alone."""

    count = 1
    rank = 0  # of the first worker in this process
    here = 1  # workers in this process
    copy_steps = False  # whether `train_on_batch` gives each of them the whole batch
    contexts: Sequence[str] = ()  # the devices of those in this process, if a model is compiled for them

    @property
    def observes(self) -> bool:
        """Whether this process looks at the model before and after its training: another would see the same."""
        return self.rank == 0

    def join(self, model: Any) -> None:
        """Let the model, which is compiled and has its weights, train with the other workers."""

    def meet(self) -> None:
        """Wait for the other processes."""

    def mean_of_step(self, loss: float) -> float:
        """The loss of a step that was taken before the training, as Keras reports it."""
        return loss

    def of_first(self, ask: Callable[[], Any]) -> Any:
        """What ask() returns in the process of the first worker, which alone asks."""
        return ask()

    def shares(self, images: bool) -> Any:
        """What sees which part of each epoch a worker reads; None where one reads all.

        images: whether the channels of images come first.
        """
        return None
