//! What an operator needs around its controllers.
