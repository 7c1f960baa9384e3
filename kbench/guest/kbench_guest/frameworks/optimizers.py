"""What both generations of Keras share of their optimizers, in the words of an example's OPTIMIZER."""

from typing import Any, Dict, Tuple

import keras

from kbench_guest.protocol import Refused

EPSILON = 1e-7  # the default of both generations


class Optimizers:
    """Subclasses say what a generation of Keras, or a framework below it, has of its own."""

    epsilon_under_root = False  # whether RMSprop divides by sqrt(v + epsilon) instead of sqrt(v) + epsilon

    def optimizer(self, settings: Dict[str, Any]) -> Any:
        """A Keras optimizer from an example's OPTIMIZER: a class name and hyper-parameters, in Keras 3's words.

        `decay` is Keras 2's: the learning rate in step t is learning_rate / (1 + decay * t). What is missing or None
        has Keras's default. Raises Refused if Keras does not take the settings.
        """
        settings = {name: value for name, value in settings.items() if value is not None}
        class_name = settings.pop("class_name")
        rate, decay = settings.pop("learning_rate"), settings.pop("decay", 0.0)
        if class_name == "RMSprop":
            # With epsilon squared under the root the two formulas agree to within epsilon. With 1e-7 itself the first
            # epochs of small gradients are visibly slower.
            epsilon = settings.get("epsilon", EPSILON)
            settings["epsilon"] = epsilon**2 if self.epsilon_under_root else epsilon
        try:
            return self.make_optimizer(class_name, rate, decay, settings)
        except (AttributeError, TypeError, ValueError) as error:
            raise Refused("example", f"Keras {keras.__version__} refuses the OPTIMIZER: {error}") from error

    def make_optimizer(self, class_name: str, rate: Any, decay: float, settings: Dict[str, Any]) -> Any:
        """An optimizer of this class, in the words of the generation."""
        raise NotImplementedError

    def initial_learning_rate(self, config: Dict[str, Any]) -> Tuple[Any, Any]:
        """(learning rate, decay) out of an optimizer's configuration, which is then without them."""
        raise NotImplementedError

    def optimizer_config(self, optimizer: Any) -> Dict[str, Any]:
        """Its configuration, a schedule of its learning rate as {class_name, config}."""
        return optimizer.get_config()

    def optimizer_settings(self, optimizer: Any) -> Dict[str, Any]:
        """{class_name, learning_rate, decay, ...} as the optimizer holds them, in the words of an OPTIMIZER."""
        optimizer = getattr(optimizer, "inner_optimizer", optimizer)  # of a loss that is scaled, in float16
        config = dict(self.optimizer_config(optimizer))
        rate, decay = self.initial_learning_rate(config)
        name = optimizer.__class__.__name__
        if name == "RMSprop" and self.epsilon_under_root:
            config["epsilon"] = config["epsilon"] ** 0.5
        return dict(config, class_name=name, learning_rate=rate, decay=decay)

    def learning_rate(self, model: Any) -> Any:
        return self.optimizer_settings(model.optimizer)["learning_rate"]

    def order_updates(self, made: Any) -> None:
        """Make an optimizer compute all gradients before any weight changes, and count the step last."""
